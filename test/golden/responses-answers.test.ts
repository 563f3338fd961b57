// @suite long
/**
 * What callers of the responses surface get of the engines' answers in `answers/`: the same events, in another format. The answers of
 * one choice, since this surface has no more.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AskedAnswer } from '../../src/core/dialect.ts';
import type { AnswerEvent } from '../../src/core/event.ts';
import { Failure } from '../../src/core/failure.ts';
import { type TagSetName, tagSets } from '../../src/core/capability.ts';
import { costOf, type Usage } from '../../src/core/money.ts';
import { dialects } from '../../src/dialects/dialects.ts';
import { createJsonReader, createStreamReader } from '../../src/dialects/engine/read-response.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import { tinyPrices } from '../support/route-of.ts';
import { openGoldenFolder } from './golden-files.ts';

const { chat, responses } = dialects;

type Kind = 'sse' | 'json';
type Json = Readonly<Record<string, unknown>>;

const folder = openGoldenFolder('answers');
const nothing: Usage = { promptTokens: 0, completionTokens: 0 };
const usual: AskedAnswer = { includeUsage: true, sampling: {} };
/** The forms in which callers want reasoning and calls. */
const asks: readonly (readonly [string, AskedAnswer])[] = [
  ['as it is', usual],
  ['with summaries and custom tools', { ...usual, traceForm: { asSummary: true, sealed: true }, callFormat: { customTools: ['get_time'], functionCall: false } }],
];
const traces = { sealTrace: (text: string) => `sealed ${text.length}`, openTrace: () => undefined };

function askOf(file: string): { readonly choices?: number; readonly tools?: readonly string[]; readonly tags?: readonly TagSetName[]; readonly implicitOpen?: boolean; readonly answerBegun?: boolean } {
  const path = folder.path(`${file}.ask.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {};
}

/** Reads an answer in the pieces in which its bytes come: the events of each. */
function read(file: string, kind: Kind, pieces: readonly Uint8Array[]) {
  const { tools = ['get_weather', 'get_time'], tags, implicitOpen = false, answerBegun = false } = askOf(file);
  const inline = tags === undefined ? {} : { reasoning: { tags: tags.map((name) => tagSets[name]), implicitOpen } };
  const newToolId = (_: number, tool: number): string => `call_${tool}`;
  const options = { choices: 1, toolNames: new Set(tools), newToolId, answerBegun, ...inline };
  const reader = kind === 'sse' ? createStreamReader(options) : createJsonReader(options);
  const steps: (readonly AnswerEvent[])[] = [];
  for (const piece of pieces) {
    const { events, state } = reader.push(piece);
    steps.push(events);
    if (state !== 'open') return { steps, end: state };
  }
  const { events, state } = reader.end();
  return { steps: [...steps, events], end: state };
}

function write(dialect: typeof chat, { steps, end }: ReturnType<typeof read>, asked: AskedAnswer = usual) {
  const usage = steps.flat().reduce((last, event) => (event.type === 'usage' ? event.usage : last), nothing);
  const bill = { usage, cost: costOf(usage, tinyPrices) };
  const identity = { id: `${dialect.idPrefixes.request}1`, created: 1_780_000_000, model: 'demo/tiny' };
  const writer = dialect.createStreamWriter(identity, asked, { traces });
  const begun = steps.map((events) => writer.push(events)).join('');
  const whole = dialect.createJsonWriter(identity, asked, { traces });
  for (const events of steps) whole.push(events);
  return {
    stream: begun + (end === 'complete' ? writer.finish(bill) : writer.fail(new Failure('stream_interrupted', 'It broke off.'))),
    object: JSON.parse(whole.finish(bill)) as Json,
  };
}

const files = (['sse', 'json'] as const)
  .flatMap((kind) => folder.cases(`.${kind}`).map((name) => [`${name}.${kind}`, kind] as const))
  .filter(([file]) => (askOf(file).choices ?? 1) === 1);
const cases = files.flatMap(([file, kind]) => asks.map(([how, asked]) => [file, how, kind, asked] as const));
const bytesOf = (file: string): Buffer => readFileSync(folder.path(file));
const readWhole = (file: string, kind: Kind) => read(file, kind, [bytesOf(file)]);
const isWhole = (file: string, kind: Kind): boolean => readWhole(file, kind).end === 'complete';
const whole = cases.filter(([file, , kind]) => isWhole(file, kind));

describe('a responses stream of what engines answer', () => {
  it.each(cases)('%s keeps its order, and tells how it ended, %s', (file, _, kind, asked) => {
    const checked = checkResponsesStream(write(responses, readWhole(file, kind), asked).stream);
    expect(checked.status === 'failed').toBe(!isWhole(file, kind));
    if (checked.status === 'failed') expect(checked.error).toMatchObject({ code: 'stream_interrupted' });
  });

  it.each(whole)('%s says the same as the answer in one piece, %s', (file, _, kind, asked) => {
    const { stream, object } = write(responses, readWhole(file, kind), asked);
    const { events: __, ...response } = checkResponsesStream(stream);
    expect(object).toEqual(response);
  });

  it.each(whole)('%s says the same as a chat completion, %s', (file, _, kind, asked) => {
    const reading = readWhole(file, kind);
    const { output, status, incomplete_details: details, usage } = checkResponsesStream(write(responses, reading, asked).stream);
    const chatted = write(chat, reading).object as {
      readonly choices: readonly [{ readonly message: Json; readonly finish_reason: string }];
      readonly usage: Json & { readonly prompt_tokens_details?: Json };
    };
    const [{ message, finish_reason: finish }] = chatted.choices;
    const parts = output.flatMap((item) => (item.type === 'message' ? (item['content'] as readonly Json[]) : []));
    const join = (type: string, field: string): string => parts.map((part) => (part['type'] === type ? String(part[field]) : '')).join('');
    expect(join('output_text', 'text')).toBe(String(message['content'] ?? ''));
    expect(join('refusal', 'refusal')).toBe(String(message['refusal'] ?? ''));
    const thoughts = output.flatMap((item) => [...((item['summary'] ?? []) as readonly Json[]), ...(item.type === 'reasoning' ? ((item['content'] ?? []) as readonly Json[]) : [])]);
    expect(thoughts.map(({ text }) => String(text)).join('')).toBe(String(message['reasoning'] ?? ''));
    const calls = (message['tool_calls'] ?? []) as readonly { id: string; function: { name: string; arguments: string } }[];
    const made = output.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call');
    expect(made.map(({ call_id: id, name }) => [id, name])).toEqual(calls.map(({ id, function: { name } }) => [id, name]));
    if (asked === usual) expect(made.map((item) => item['arguments'])).toEqual(calls.map((call) => call.function.arguments));
    const hasRefused = message['refusal'] !== null;
    const ends: Json = {
      ...{ stop: ['completed', null], tool_calls: ['completed', null], length: ['incomplete', { reason: 'max_output_tokens' }] },
      content_filter: hasRefused ? ['completed', null] : ['incomplete', { reason: 'content_filter' }],
    };
    expect([status, details]).toEqual(ends[finish]);
    expect(usage).toMatchObject({
      ...{ input_tokens: chatted.usage['prompt_tokens'], output_tokens: chatted.usage['completion_tokens'], cost: chatted.usage['cost'] },
      input_tokens_details: { cached_tokens: chatted.usage.prompt_tokens_details?.['cached_tokens'] ?? 0 },
    });
  });

  it.each(files.filter(([, kind]) => kind === 'sse'))('%s is the same response cut at every byte, and byte by byte', (file, kind) => {
    const bytes = bytesOf(file);
    const response = (pieces: readonly Uint8Array[]): string => {
      const { events: _, ...checked } = checkResponsesStream(write(responses, read(file, kind, pieces)).stream);
      return JSON.stringify(checked);
    };
    const expected = response([bytes]);
    for (let place = 1; place < bytes.length; place += 1) {
      const cut = response([bytes.subarray(0, place), bytes.subarray(place)]);
      if (cut !== expected) expect(cut, `cut at ${place}`).toBe(expected);
    }
    expect(response([...bytes].map((byte) => Uint8Array.of(byte)))).toBe(expected);
  });

  it.each(files)('%s tells nothing of the engine to a caller', (file, kind) => {
    expect(write(responses, readWhole(file, kind)).stream).not.toMatch(
      /chatcmpl-up1|up\/|fp_|CANARY|obfuscation|matched_stop|timings|x_groq|call_a1/,
    );
  });
});
