import { parseArgs } from 'node:util';
import { type Bar, bars } from './bars.ts';
import { fullPlan, quickPlan, type BenchPlan } from './scenarios.ts';

export interface BenchCommand {
  readonly kind:
    | 'measure'
    | 'bars'
    | 'agents'
    | 'idle'
    | 'budget'
    | 'over-time'
    | 'profile'
    | 'tokens'
    | 'vectors'
    | 'help';
  readonly plan: BenchPlan;
  /** Where the figures go as JSON. */
  readonly json: string | undefined;
  /** Folder for the line pictures. */
  readonly pictures: string | undefined;
  /** Without Weir only plain Envoy is measured: what this machine can do at most. */
  readonly withWeir: boolean;
  /** Whether this checkout is also measured with tracing on. */
  readonly withTracing: boolean;
  /** Whether this checkout is also measured while it sends events. */
  readonly withEvents: boolean;
  /** Folder of another checkout that is measured beside this one. */
  readonly against: string | undefined;
  /** Command that starts another gateway, which is measured beside this one. */
  readonly peer: string | undefined;
  /** The bars that `--bars` measures. */
  readonly bars: readonly Bar[];
  readonly overTime: OverTimePlan;
}

/** What `--over-time` measures. */
export interface OverTimePlan {
  /** Slow streams that stay open in Weir. */
  readonly streams: number;
  /** Sum of the windows in which a load is counted. */
  readonly seconds: number;
}

export const usage = `npm run bench -- [options]

Measures Weir, all features on, beside a plain Envoy in one run: a mock engine, the load and both gateways on this machine.
The figures, and how to read them, are described in docs/lab/bench.md.

  --quick        three short rounds, under three minutes (default: seven longer ones, about twelve minutes)
  --rounds N     this many rounds
  --json FILE    writes every sample and figure to FILE
  --against DIR  measures the checkout in DIR too, in the same rounds, and compares the two
  --peer COMMAND measures the gateway that COMMAND starts, too; it gets PORT, ENGINE_URL and ENGINE_PORT, and PEER_KEY as its key
  --tracing      measures this checkout with tracing on, too, for one request in a hundred and for each, and compares
  --events       measures this checkout while it sends an event for each request (docs/how-to/events.md), too, and compares
  --bars         measures the bars of docs/lab/bench.md, prints each with its figure; about a quarter of an hour
  --only NAME    with --bars: only this one; may be repeated
  --budget       prints the processor time of an answer and of a chunk, by thread, and what the service's time and memory go to
  --agents       measures prompts of agents: conversations of 20 KB to 2 MB that grow by a turn with each request
  --tokens       measures a caller with a token beside one with a key, both of the same gateway (docs/how-to/identities.md)
  --vectors      measures embeddings: 64 callers with one input, and one caller with 2,048 (docs/how-to/embeddings.md)
  --idle         measures the memory and the processor time of all programs while no requests arrive
  --over-time    measures first bytes, delays of the event loop and memory, second by second, with slow streams open
  --streams N    with --over-time: slow streams that are open (default: 2000)
  --seconds N    with --over-time: seconds that are counted, half of them for each gateway (default: 300)
  --pictures DIR with --over-time: writes tails.lines.json and memory.lines.json to DIR; with --bars: prompts.lines.json and words.lines.json
  --profile      instead of measuring, prints what the service's time goes to under each load
  --plain-only   measures plain Envoy alone
  --help`;

const modes = ['profile', 'budget', 'bars', 'agents', 'idle', 'over-time', 'tokens', 'vectors'] as const;
/** The options that do not go with a mode, beside the other modes. */
const refusedBeside = {
  profile: ['plain-only', 'against', 'tracing', 'events', 'peer'],
  budget: ['plain-only', 'tracing', 'events', 'peer'],
  bars: ['plain-only', 'tracing', 'events'],
  agents: ['plain-only', 'tracing', 'events'],
  idle: ['plain-only', 'tracing', 'events', 'rounds', 'json'],
  'over-time': ['plain-only', 'tracing', 'events', 'against', 'peer', 'quick', 'rounds'],
  tokens: ['plain-only', 'against', 'tracing', 'events', 'peer'],
  vectors: ['plain-only', 'tracing', 'events'],
  'plain-only': ['against', 'tracing', 'events', 'peer'],
} as const;
/** The options that go with some modes only. */
const wantedBeside = {
  streams: ['over-time'],
  seconds: ['over-time'],
  pictures: ['over-time', 'bars'],
  only: ['bars'],
} as const;
/** Rounds of `--bars`, `--agents` and `--vectors`: what fits into a quarter of an hour. */
const longRounds = 3;

/** Throws with a sentence about the option at fault. */
export function readCommandLine(args: readonly string[]): BenchCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      json: { type: 'string' },
      against: { type: 'string' },
      peer: { type: 'string' },
      tracing: { type: 'boolean', default: false },
      events: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      bars: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      budget: { type: 'boolean', default: false },
      agents: { type: 'boolean', default: false },
      idle: { type: 'boolean', default: false },
      'over-time': { type: 'boolean', default: false },
      tokens: { type: 'boolean', default: false },
      vectors: { type: 'boolean', default: false },
      streams: { type: 'string' },
      seconds: { type: 'string' },
      pictures: { type: 'string' },
      'plain-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const given = new Map<string, unknown>(Object.entries(values));
  const on = (name: string): boolean => (given.get(name) ?? false) !== false;
  for (const [mode, others] of Object.entries(refusedBeside)) {
    const refused = on(mode) ? [...modes.filter((one) => one !== mode), ...others].filter(on) : [];
    if (refused.length > 0) throw new Error(`--${mode} does not go with --${refused.join(' and --')}.`);
  }
  for (const [name, some] of Object.entries(wantedBeside)) {
    if (on(name) && !some.some(on)) throw new Error(`--${name} goes with --${some.join(' or --')}.`);
  }
  const plan = values.quick ? quickPlan : fullPlan;
  const usual = values.bars || values.agents || values.vectors ? longRounds : plan.rounds;
  return {
    kind: values.help ? 'help' : (modes.find((mode) => values[mode]) ?? 'measure'),
    plan: { ...plan, rounds: wholeNumber('rounds', { value: values.rounds, usual, from: 1, to: 100 }) },
    json: values.json,
    pictures: values.pictures,
    withWeir: !values['plain-only'],
    withTracing: values.tracing,
    withEvents: values.events,
    against: values.against,
    peer: values.peer,
    bars: chosenBars(values.only),
    overTime: {
      streams: wholeNumber('streams', { value: values.streams, usual: 2_000, from: 1, to: 20_000 }),
      seconds: wholeNumber('seconds', { value: values.seconds, usual: 300, from: 20, to: 7_200 }),
    },
  };
}

function chosenBars(names: readonly string[] | undefined): readonly Bar[] {
  const unknown = names?.filter((name) => bars.every((bar) => bar.name !== name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`--only ${unknown[0]}: expected one of ${bars.map(({ name }) => name).join(', ')}.`);
  return bars.filter(({ name }) => names?.includes(name) ?? true);
}

interface WholeNumber {
  readonly value: string | undefined;
  readonly usual: number;
  readonly from: number;
  readonly to: number;
}

function wholeNumber(name: string, { value, usual, from, to }: WholeNumber): number {
  const number = Number(value ?? usual);
  if (Number.isInteger(number) && number >= from && number <= to) return number;
  throw new Error(`--${name} takes a whole number from ${from} to ${to}.`);
}
