// @suite long
/**
 * What callers of the responses surface get of the engines' answers in `answers/`: the same events, in another format. The answers of
 * one choice, since this surface has no more.
 */
import { describe, expect, it } from 'vitest';
import type { AskedAnswer } from '../../src/core/dialect.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import type { Kind } from './read-answers.ts';
import { answerReader, answersOfOneChoice as files, type Json, writeAnswer } from './surface-answers.ts';

const { chat, responses } = dialects;
const { readWhole, expectSameInPieces } = answerReader('call_');

const usual: AskedAnswer = { includeUsage: true, sampling: {} };
/** The forms in which callers want reasoning and calls. */
const asks: readonly (readonly [string, AskedAnswer])[] = [
  ['as it is', usual],
  ['with summaries and custom tools', { ...usual, traceForm: { asSummary: true, sealed: true }, callFormat: { customTools: ['get_time'], functionCall: false } }],
];
const traces = { isOurs: () => false, sealTrace: (text: string) => `sealed ${text.length}`, openTrace: () => undefined };

const write = (dialect: typeof chat, read: ReturnType<typeof readWhole>, asked = usual) => writeAnswer(dialect, read, asked, { traces });

const cases = files.flatMap(([file, kind]) => asks.map(([how, asked]) => [file, how, kind, asked] as const));
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

  it.each(files.filter(([, kind]) => kind === 'sse'))('%s is the same response cut in two, and byte by byte', (file, kind) => {
    expectSameInPieces(file, kind, (read) => {
      const { events: _, ...checked } = checkResponsesStream(write(responses, read).stream);
      return JSON.stringify(checked);
    });
  });

  it.each(files)('%s tells nothing of the engine to a caller', (file, kind) => {
    expect(write(responses, readWhole(file, kind)).stream).not.toMatch(
      /chatcmpl-up1|up\/|fp_|CANARY|obfuscation|matched_stop|timings|x_groq|call_a1/,
    );
  });
});
