import { parseArgs } from 'node:util';
import { fullPlan, quickPlan, type BenchPlan } from './scenarios.ts';

export interface BenchCommand {
  readonly kind: 'measure' | 'agents' | 'idle' | 'budget' | 'over-time' | 'profile' | 'help';
  readonly plan: BenchPlan;
  /** Where the figures go as JSON. */
  readonly json: string | undefined;
  /** Without Weir only plain Envoy is measured: what this machine can do at most. */
  readonly withWeir: boolean;
  /** Whether this checkout is also measured with tracing on. */
  readonly withTracing: boolean;
  /** Folder of another checkout that is measured beside this one. */
  readonly against: string | undefined;
  readonly overTime: OverTimePlan;
}

/** What `--over-time` measures. */
export interface OverTimePlan {
  /** Slow streams that stay open in Weir. */
  readonly streams: number;
  /** Sum of the windows in which a load is counted. */
  readonly seconds: number;
  /** Folder for the line pictures. */
  readonly pictures: string | undefined;
}

export const usage = `npm run bench -- [options]

Measures Weir, all features on, beside a plain Envoy in one run: a mock engine, the load and both gateways on this machine.
The figures, and how to read them, are described in docs/bench.md.

  --quick        three short rounds, under two minutes (default: seven longer ones, about eight minutes)
  --rounds N     this many rounds
  --json FILE    writes every sample and figure to FILE
  --against DIR  measures the checkout in DIR too, in the same rounds, and compares the two
  --tracing      measures this checkout with tracing on, too, for one request in a hundred and for each, and compares
  --budget       prints the processor time of an answer and of a chunk, by thread, and what the service's time and memory go to
  --agents       measures prompts of agents: conversations of 20 KB to 1.6 MB that grow by a turn with each request
  --idle         measures the memory and the processor time of all programs while no requests arrive
  --over-time    measures first bytes, delays of the event loop and memory, second by second, with slow streams open
  --streams N    with --over-time: slow streams that are open (default: 2000)
  --seconds N    with --over-time: seconds that are counted, half of them for each gateway (default: 300)
  --pictures DIR with --over-time: writes tails.lines.json and memory.lines.json to DIR
  --profile      instead of measuring, prints what the service's time goes to under each load
  --plain-only   measures plain Envoy alone
  --help`;

const otherMeasures = ['budget', 'profile', 'plain-only', 'tracing'] as const;
/** The options that do not go with a mode. */
const refusedBeside = {
  'over-time': [...otherMeasures, 'agents', 'idle', 'against', 'quick', 'rounds'],
  agents: [...otherMeasures, 'idle', 'json'],
  idle: [...otherMeasures, 'quick', 'rounds', 'json'],
} as const;

/** Throws with a sentence about the option at fault. */
export function readCommandLine(args: readonly string[]): BenchCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      json: { type: 'string' },
      against: { type: 'string' },
      tracing: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      budget: { type: 'boolean', default: false },
      agents: { type: 'boolean', default: false },
      idle: { type: 'boolean', default: false },
      'over-time': { type: 'boolean', default: false },
      streams: { type: 'string' },
      seconds: { type: 'string' },
      pictures: { type: 'string' },
      'plain-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const plan = values.quick ? quickPlan : fullPlan;
  const rounds = values.rounds === undefined ? plan.rounds : Number(values.rounds);
  if (!isWhole(rounds, 1, 100)) throw new Error('--rounds takes a whole number from 1 to 100.');
  if (values.profile && values['plain-only'])
    throw new Error('--profile is about Weir; it does not go with --plain-only.');
  if (values.against !== undefined && (values.profile || values['plain-only']))
    throw new Error('--against compares two versions of Weir; it goes with neither --profile nor --plain-only.');
  if (values.tracing && (values.profile || values['plain-only']))
    throw new Error('--tracing compares Weir with itself; it goes with neither --profile nor --plain-only.');
  if (values.budget && (values.profile || values['plain-only'] || values.tracing))
    throw new Error('--budget goes with --against, and with none of --profile, --plain-only and --tracing.');
  const overTime = readOverTime(values);
  for (const mode of ['over-time', 'agents', 'idle'] as const) {
    const others = values[mode] ? refusedBeside[mode].filter((name) => isGiven(values[name])) : [];
    if (others.length > 0) throw new Error(`--${mode} does not go with --${others.join(' and --')}.`);
  }
  return {
    kind:
      (['help', 'profile', 'budget', 'agents', 'idle', 'over-time'] as const).find((kind) => values[kind]) ?? 'measure',
    plan: { ...plan, rounds },
    json: values.json,
    withWeir: !values['plain-only'],
    withTracing: values.tracing,
    against: values.against,
    overTime,
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== false;

function isWhole(value: number, from: number, to: number): boolean {
  return Number.isInteger(value) && value >= from && value <= to;
}

function readOverTime(values: {
  readonly 'over-time': boolean;
  readonly streams?: string | undefined;
  readonly seconds?: string | undefined;
  readonly pictures?: string | undefined;
}): OverTimePlan {
  for (const name of ['streams', 'seconds', 'pictures'] as const) {
    if (values[name] !== undefined && !values['over-time']) throw new Error(`--${name} goes with --over-time.`);
  }
  const streams = Number(values.streams ?? 2_000);
  if (!isWhole(streams, 1, 20_000)) throw new Error('--streams takes a whole number from 1 to 20000.');
  const seconds = Number(values.seconds ?? 300);
  if (!isWhole(seconds, 20, 7_200)) throw new Error('--seconds takes a whole number from 20 to 7200.');
  return { streams, seconds, pictures: values.pictures };
}
