// @suite long
/**
 * What callers of the messages surface get of the engines' answers in `answers/`: the same events, in another format. The answers of
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
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import { tinyPrices } from '../support/route-of.ts';
import { openGoldenFolder } from './golden-files.ts';

const { chat, messages } = dialects;

type Kind = 'sse' | 'json';
type Json = Readonly<Record<string, unknown>>;

const folder = openGoldenFolder('answers');
const asked: AskedAnswer = { includeUsage: true, sampling: { stop: ['END'] } };
const nothing: Usage = { promptTokens: 0, completionTokens: 0 };

function askOf(file: string): { readonly choices?: number; readonly tools?: readonly string[]; readonly tags?: readonly TagSetName[]; readonly implicitOpen?: boolean; readonly answerBegun?: boolean } {
  const path = folder.path(`${file}.ask.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {};
}

/** Reads an answer in the pieces in which its bytes come: the events of each. */
function read(file: string, kind: Kind, pieces: readonly Uint8Array[]) {
  const { tools = ['get_weather', 'get_time'], tags, implicitOpen = false, answerBegun = false } = askOf(file);
  const inline = tags === undefined ? {} : { reasoning: { tags: tags.map((name) => tagSets[name]), implicitOpen } };
  const newToolId = (_: number, tool: number): string => `toolu_${tool}`;
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

function write(dialect: typeof chat, { steps, end }: ReturnType<typeof read>) {
  const usage = steps.flat().reduce((last, event) => (event.type === 'usage' ? event.usage : last), nothing);
  const bill = { usage, cost: costOf(usage, tinyPrices) };
  const identity = { id: `${dialect.idPrefixes.request}1`, created: 1_780_000_000, model: 'demo/tiny' };
  const writer = dialect.createStreamWriter(identity, asked);
  const begun = steps.map((events) => writer.push(events)).join('');
  const whole = dialect.createJsonWriter(identity, asked);
  for (const events of steps) whole.push(events);
  return {
    stream: begun + (end === 'complete' ? writer.finish(bill) : writer.fail(new Failure('stream_interrupted', 'It broke off.'))),
    object: JSON.parse(whole.finish(bill)) as Json,
  };
}

const cases = (['sse', 'json'] as const)
  .flatMap((kind) => folder.cases(`.${kind}`).map((name) => [`${name}.${kind}`, kind] as const))
  .filter(([file]) => (askOf(file).choices ?? 1) === 1);
const bytesOf = (file: string): Buffer => readFileSync(folder.path(file));
const readWhole = (file: string, kind: Kind) => read(file, kind, [bytesOf(file)]);
const whole = cases.filter(([file, kind]) => readWhole(file, kind).end === 'complete');

describe('a messages stream of what engines answer', () => {
  it.each(cases)('%s keeps its order, and tells how it ended', (file, kind) => {
    const reading = readWhole(file, kind);
    const checked = checkMessagesStream(write(messages, reading).stream);
    expect(checked.ending).toBe(reading.end === 'complete' ? 'whole' : 'error');
    if (checked.ending === 'error') expect(checked.error).toMatchObject({ code: 'stream_interrupted' });
  });

  it.each(whole)('%s says the same as the answer in one piece', (file, kind) => {
    const { stream, object } = write(messages, readWhole(file, kind));
    const { content, stop_reason, stop_sequence, usage } = checkMessagesStream(stream);
    const shown = content.map((block) => ('cut' in Object(block['input']) ? { ...block, input: {} } : block));
    expect(object).toEqual({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'demo/tiny' },
      ...{ content: shown, stop_reason, stop_sequence, usage },
    });
  });

  it.each(whole)('%s says the same as a chat completion', (file, kind) => {
    const reading = readWhole(file, kind);
    const { content, stop_reason, usage } = checkMessagesStream(write(messages, reading).stream);
    const chatted = write(chat, reading).object as {
      readonly choices: readonly [{ readonly message: Json; readonly finish_reason: string }];
      readonly usage: Json & { readonly prompt_tokens_details?: { readonly cached_tokens: number } };
    };
    const [{ message, finish_reason: finish }] = chatted.choices;
    const join = (type: string, field: string): string =>
      content.map((block) => (block.type === type ? String(block[field]) : '')).join('');
    // A refusal is a field of its own there.
    expect(join('text', 'text')).toBe(`${String(message['content'] ?? '')}${String(message['refusal'] ?? '')}`);
    expect(join('thinking', 'thinking')).toBe(String(message['reasoning'] ?? ''));
    const calls = (message['tool_calls'] ?? []) as readonly { id: string; function: { name: string; arguments: string } }[];
    const used = content.filter(({ type }) => type === 'tool_use');
    expect(used.map(({ id, name }) => [id, name])).toEqual(calls.map(({ id, function: { name } }) => [id, name]));
    if (finish !== 'length') {
      expect(used.map(({ input }) => input)).toEqual(calls.map((call): unknown => JSON.parse(call.function.arguments)));
    }
    const reasons: Json = { stop: /^(end_turn|stop_sequence)$/, length: /^max_tokens$/, tool_calls: /^tool_use$/, content_filter: /^refusal$/ };
    expect(stop_reason).toMatch(reasons[finish] as RegExp);
    const cached = chatted.usage.prompt_tokens_details?.cached_tokens ?? 0;
    expect(usage).toMatchObject({
      input_tokens: Number(chatted.usage['prompt_tokens']) - cached,
      ...{ cache_read_input_tokens: cached, output_tokens: chatted.usage['completion_tokens'], cost: chatted.usage['cost'] },
    });
  });

  it.each(cases.filter(([, kind]) => kind === 'sse'))('%s is the same message cut at every byte, and byte by byte', (file, kind) => {
    const bytes = bytesOf(file);
    const message = (pieces: readonly Uint8Array[]): string => {
      const { events: _, ...checked } = checkMessagesStream(write(messages, read(file, kind, pieces)).stream);
      return JSON.stringify(checked);
    };
    const expected = message([bytes]);
    for (let place = 1; place < bytes.length; place += 1) {
      const cut = message([bytes.subarray(0, place), bytes.subarray(place)]);
      if (cut !== expected) expect(cut, `cut at ${place}`).toBe(expected);
    }
    expect(message([...bytes].map((byte) => Uint8Array.of(byte)))).toBe(expected);
  });

  it.each(cases)('%s tells nothing of the engine to a caller', (file, kind) => {
    expect(write(messages, readWhole(file, kind)).stream).not.toMatch(
      /chatcmpl-up1|up\/|fp_|CANARY|obfuscation|service_tier|matched_stop|timings|x_groq|call_a1/,
    );
  });
});
