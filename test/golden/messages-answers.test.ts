// @suite long
/**
 * What callers of the messages surface get of the engines' answers in `answers/`: the same events, in another format. The answers of
 * one choice, since this surface has no more.
 */
import { describe, expect, it } from 'vitest';
import type { AskedAnswer } from '../../src/core/dialect.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { checkMessagesStream } from '../support/messages-stream-checker.ts';
import { answerReader, answersOfOneChoice as cases, type Json, writeAnswer } from './surface-answers.ts';

const { chat, messages } = dialects;
const { readWhole, expectSameInPieces } = answerReader('toolu_');

const asked: AskedAnswer = { includeUsage: true, sampling: { stop: ['END'] } };
const write = (dialect: typeof chat, read: ReturnType<typeof readWhole>) => writeAnswer(dialect, read, asked);
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

  it.each(cases.filter(([, kind]) => kind === 'sse'))('%s is the same message cut in two, and byte by byte', (file, kind) => {
    expectSameInPieces(file, kind, (read) => {
      const { events: _, ...checked } = checkMessagesStream(write(messages, read).stream);
      return JSON.stringify(checked);
    });
  });

  it.each(cases)('%s tells nothing of the engine to a caller', (file, kind) => {
    expect(write(messages, readWhole(file, kind)).stream).not.toMatch(
      /chatcmpl-up1|up\/|fp_|CANARY|obfuscation|service_tier|matched_stop|timings|x_groq|call_a1/,
    );
  });
});
