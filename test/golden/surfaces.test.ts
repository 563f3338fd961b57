/**
 * Blocks, items, tools and system texts of all surfaces, both ways: `surfaces/<surface>-<subject>.json` holds requests by what they show,
 * `<surface>-<subject>.out.json` what an engine gets of each, or the refusal, and what the caller gets when the model then calls the
 * tools as `calls` says, or answers in `events`. Adding a case is adding an entry; `npm run golden:write` writes the rest, to be reviewed.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { SystemMessages } from '../../src/core/capability.ts';
import { type AskedAnswer, chatSurfaces, type Dialect, type Surface } from '../../src/core/dialect.ts';
import type { AnswerEvent, RelayedEvent } from '../../src/core/event.ts';
import { Failure } from '../../src/core/failure.ts';
import type { PreparedRequest } from '../../src/core/prompt.ts';
import type { Request } from '../../src/core/request.ts';
import type { SearchSeal, TraceSeal } from '../../src/core/web-search.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { createJsonReader } from '../../src/gateway/dialects/engine/read-response.ts';
import { capabilitiesOf } from '../../src/gateway/engines/engines.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import { makePlan } from '../../src/gateway/routing/plan.ts';
import { modelOf, routeOf, snapshotOf } from '../support/route-of.ts';
import { openGoldenFolder } from './golden-files.ts';

type Json = Readonly<Record<string, unknown>>;

/** A request beside what it shows, with what the model answers to it. */
interface Case extends Json {
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  readonly events?: readonly RelayedEvent[];
}

const folder = openGoldenFolder('surfaces');
const files = folder.cases('.json');
const casesOf = (file: string): readonly (readonly [string, Case])[] =>
  Object.entries(JSON.parse(readFileSync(folder.path(`${file}.json`), 'utf8')) as Readonly<Record<string, Case>>);
const dialectOf = (file: string): Dialect => {
  const surface = chatSurfaces.find((name) => file.startsWith(`${name}-`));
  if (surface === undefined) throw new Error(`${file} begins with the name of no surface`);
  return dialects[surface];
};

const messagesBody = { model: 'demo/tiny', max_tokens: 100, messages: [{ role: 'user', content: 'Hi.' }] };
const good: Partial<Record<Surface, Json>> = { chat: messagesBody, messages: messagesBody, responses: { model: 'demo/tiny', input: 'Hi.' } };
const bodyOf = ({ surface }: Dialect, { calls: _, events: __, ...fields }: Case): Json => ({ ...good[surface], ...fields });

/** Opens `source 3`, `number 3` and what begins with `trace`, and nothing else. */
const seal: SearchSeal & TraceSeal = {
  sealTrace: (text) => `trace ${text}`,
  openTrace: (token) => (token.startsWith('trace ') ? token.slice(6) : undefined),
  isOurs: () => false,
  sealSource: ({ number }) => `source ${number}`,
  openSource: (token) => (token === 'source 3' ? { number: 3, url: 'https://3.example/', title: 'T3', text: 'Low.' } : undefined),
  sealNumber: (number) => `number ${number}`,
  openNumber: (token) => (token === 'number 3' ? 3 : undefined),
};

interface Taking {
  readonly systemMessages: SystemMessages;
  readonly images: boolean;
}

/** What of the conversation and the tools reaches an engine that takes these. */
function written(prepared: PreparedRequest, { systemMessages, images }: Taking): Json {
  const inputModalities = images ? (['text', 'image'] as const) : (['text'] as const);
  const snapshot = snapshotOf([modelOf([routeOf('a', { capabilities: { systemMessages } })], { inputModalities })]);
  const [{ target }] = makePlan(prepared, { snapshot, capabilitiesOf, turn: 0 }).routes;
  const { messages: turns, tools, tool_choice, parallel_tool_calls } = JSON.parse(String(prepared.bodyFor(target))) as Json;
  return { messages: turns, tools, tool_choice, parallel_tool_calls };
}

const inputOf = (dialect: Dialect, prepared: PreparedRequest): Json => {
  const taking = (systemMessages: SystemMessages, images: boolean): Json => shownOrRefused(dialect, () => written(prepared, { systemMessages, images }));
  const all = taking('Anywhere', true);
  // What differs is told once more.
  const unlike = (other: Json): Json | undefined => (JSON.stringify(other) === JSON.stringify(all) ? undefined : other);
  return {
    engine: all,
    'engine that takes leading system messages': unlike(taking('Leading', true)),
    'engine of a model without images': unlike(taking('Anywhere', false)),
  };
};

/** The answer of an engine that calls tools, read. */
function callsRead(calls: NonNullable<Case['calls']>, { tools }: Pick<Request, 'tools'>): readonly AnswerEvent[] {
  const toolCalls = calls.map(({ name, input }, at) => ({
    ...{ id: `call_up${at}`, type: 'function', function: { name, arguments: JSON.stringify(input) } },
  }));
  const answer = { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: toolCalls }, finish_reason: 'tool_calls' }] };
  const reader = createJsonReader({ choices: 1, toolNames: new Set(tools.map(({ name }) => name)), newToolId: (_, tool) => `id_${tool}` });
  const pushed = reader.push(Buffer.from(JSON.stringify({ ...answer, usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } })));
  return [...pushed.events, ...reader.end().events];
}

/** No prompt is counted here. */
const countPrompt = (): Promise<never> => Promise.reject(new Error('nothing to count with'));

/** What a caller gets of an answer, in one piece and as a stream. */
function answered(dialect: Dialect, asked: AskedAnswer, events: readonly RelayedEvent[]): Json {
  const identity = { id: `${dialect.idPrefixes.request}1`, created: 1_780_000_000, model: 'demo/tiny' };
  const bill = { usage: { promptTokens: 9, completionTokens: 5 }, cost: 0n };
  const whole = dialect.createJsonWriter(identity, asked, { traces: seal });
  whole.push(events);
  const { choices, content, stop_reason, stop_sequence, status, output, incomplete_details } = JSON.parse(whole.finish(bill)) as Json;
  const stream = dialect.createStreamWriter(identity, asked, { traces: seal });
  const frames = [...events.map((event) => stream.push([event])), stream.finish(bill)].join('').split('\n\n');
  const data = frames.map((frame) => frame.replace(/^(?:event: [\w.]+\n)?data: /, '')).filter((text) => text.startsWith('{'));
  const caller = { choices, content, stop_reason, stop_sequence, status, output, incomplete_details };
  return { caller, 'caller on a stream': data.map(shownOf) };
}

/** An event of a stream, without what every one of them carries. */
function shownOf(data: string): unknown {
  const { id: _, object: __, created: ___, model: ____, system_fingerprint: _____, ...event } = JSON.parse(data) as Json;
  // The whole response is shown once, as the answer in one piece.
  return 'response' in event ? { ...event, response: (event['response'] as Json)['status'] } : event;
}

/** What something gives, or the refusal that it throws as the caller gets it. */
function shownOrRefused(dialect: Dialect, give: () => Json): Json {
  try {
    return give();
  } catch (error) {
    if (error instanceof Failure) return { refused: JSON.parse(dialect.writeError(error)) as unknown };
    throw error;
  }
}

function show(dialect: Dialect, test: Case): Json {
  return shownOrRefused(dialect, () => {
    const prepared = prepareHere(Buffer.from(JSON.stringify(bodyOf(dialect, test))), { surface: dialect.surface, seal, traces: seal, countPrompt });
    const events = test.events ?? (test.calls === undefined ? undefined : callsRead(test.calls, prepared.request));
    return {
      ...(test.events === undefined ? inputOf(dialect, prepared) : {}),
      ...(events === undefined ? {} : answered(dialect, prepared.request, events)),
    };
  });
}

/** JSON in which a message, a tool or an event is a line. */
function print(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null || depth === 4) return JSON.stringify(value);
  const inner = ' '.repeat(depth + 1);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const lines = Array.isArray(value)
    ? value.map((item) => `${inner}${JSON.stringify(item)}`)
    : fields.map(([name, field]) => `${inner}${JSON.stringify(name)}: ${print(field, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${' '.repeat(depth)}${close}`;
}

describe('what engines and callers get on all surfaces', () => {
  it.each(files)('%s', async (file) => {
    const shown = Object.fromEntries(casesOf(file).map(([name, test]) => [name, show(dialectOf(file), test)]));
    await expect(`${print(shown)}\n`).toMatchFileSnapshot(folder.path(`${file}.out.json`));
  });

  it.each(files)('%s: a name that a model calls is one of those that it was shown', (file) => {
    for (const [name, { calls = [], ...test }] of casesOf(file)) {
      if (calls.length === 0) continue;
      const { tools } = dialectOf(file).readRequest(bodyOf(dialectOf(file), test), { seal });
      expect(tools.map((tool) => tool.name), name).toEqual(expect.arrayContaining(calls.map((call) => call.name)));
    }
  });
});

it('has no golden that no case produces', () => {
  expect(folder.orphans(new Set(files.map((file) => `${file}.out.json`)))).toEqual([]);
});
