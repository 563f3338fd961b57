import type { AnswerIdentity, AskedAnswer, JsonWriter, StreamWriter } from '../../../core/dialect.ts';
import type { Logprobs, RelayedEvent, TextEvent } from '../../../core/event.ts';
import { errorBody, type Failure } from '../../../core/failure.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';
import { addToChoice, type AnswerChoice, newChoice } from '../../core/answer-choice.ts';
import { createCallWriter } from './write-calls.ts';
import type { Feature } from '../../../core/capability.ts';

const done = 'data: [DONE]\n\n';

/**
 * Writes events as chat completion chunks (docs/reference/engines.md §1). The stream ends with the usage, when it was asked for,
 * and `[DONE]`. After an error, only `[DONE]` follows, because clients stop reading there. Strings that do not change are built
 * once.
 */
export function createStreamWriter(
  identity: AnswerIdentity,
  options: Pick<AskedAnswer, 'includeUsage' | 'callFormat'>,
): StreamWriter {
  const { id, created, model } = identity;
  const head =
    `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},` +
    `"model":${JSON.stringify(model)},"choices":[`;
  const tail = options.includeUsage ? '],"usage":null}\n\n' : ']}\n\n';
  const begun = new Set<number>();
  const finished = new Set<number>();
  const calls = createCallWriter(options.callFormat);

  const chunk = (choice: number, delta: string, logprobs = 'null', finish = 'null'): string =>
    `${head}{"index":${choice},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}${tail}`;

  const chunks = (choice: number, deltas: readonly object[]): string =>
    deltas.map((delta) => chunk(choice, JSON.stringify(delta))).join('');

  function begin(choice: number): string {
    if (begun.has(choice)) return '';
    begun.add(choice);
    return chunk(choice, '{"role":"assistant","content":""}');
  }

  /** Breaks a silence. Clients count chunks only, not comments; after its end a choice has none. */
  function keepAlive(): string {
    const choice = begun.size === 0 ? 0 : [...begun].find((one) => !finished.has(one));
    if (choice === undefined) return ': keep-alive\n\n';
    return begin(choice) || chunk(choice, '{}');
  }

  function writeEvent(event: RelayedEvent): string {
    switch (event.type) {
      case 'text-delta':
        return chunk(event.choice, `{"content":${JSON.stringify(event.text)}}`, writeDeltaLogprobs(event));
      case 'refusal-delta':
        return chunk(event.choice, `{"refusal":${JSON.stringify(event.text)}}`, writeDeltaLogprobs(event));
      case 'reasoning-delta': {
        // Both fields have the same text: docs/reference/endpoints.md §4.1.1.
        const text = JSON.stringify(event.text);
        return chunk(event.choice, `{"reasoning_content":${text},"reasoning":${text}}`);
      }
      case 'tool-start':
        return chunks(event.choice, calls.start(event));
      case 'tool-delta':
        return chunks(event.choice, calls.delta(event));
      case 'finish': {
        finished.add(event.choice);
        const last = chunk(event.choice, '{}', 'null', `"${calls.finishReason(event.reason)}"`);
        const state = event.sealedState === undefined ? [] : [writeState(event.sealedState)];
        return chunks(event.choice, [...calls.end(event.choice), ...state]) + last;
      }
      // This surface has no web search.
      case 'search-call':
      case 'search-result':
      // Answers of other tasks.
      case 'vectors':
      case 'ranks':
      case 'usage':
        return '';
    }
  }

  return {
    push: (events) => {
      let text = '';
      for (const event of events) {
        if (event.type !== 'usage') text += begin(event.choice);
        text += writeEvent(event);
      }
      return text;
    },
    keepAlive,
    finish: (bill) => (options.includeUsage ? `${head}],"usage":${writeUsage(bill)}}\n\n${done}` : done),
    fail: (failure) => {
      const choice = '{"index":0,"delta":{"content":""},"finish_reason":"error"}';
      return `${head}${choice}],"error":${JSON.stringify(errorBody(failure, fieldName))}}\n\n${done}`;
    },
  };
}

function writeDeltaLogprobs({ logprobs }: Pick<TextEvent, 'logprobs'>): string {
  if (logprobs === undefined) return 'null';
  return JSON.stringify({ content: logprobs.content ?? null, refusal: logprobs.refusal ?? null });
}

/** A choice that is being assembled, with the probabilities of its tokens. */
interface ChoiceParts extends AnswerChoice {
  readonly logprobs: { content: unknown[] | null; refusal: unknown[] | null };
}

/** What the engine wants back, in the field in which other gateways have it, and clients that know of one keep it. */
const writeState = (sealed: string): object => ({
  reasoning_details: [{ type: 'reasoning.encrypted', data: sealed, index: 0 }],
});

/** Assembles events into one chat completion object. */
export function createJsonWriter(identity: AnswerIdentity, asked?: Pick<AskedAnswer, 'callFormat'>): JsonWriter {
  const calls = createCallWriter(asked?.callFormat);
  const choices = new Map<number, ChoiceParts>();

  function take(event: RelayedEvent): void {
    if (event.type === 'usage') return;
    const parts = choices.getOrInsertComputed(event.choice, () => ({
      ...newChoice(),
      logprobs: { content: null, refusal: null },
    }));
    addToChoice(parts, event);
    if ('logprobs' in event) takeLogprobs(parts, event.logprobs);
  }

  function takeLogprobs({ logprobs: taken }: ChoiceParts, logprobs: Logprobs | undefined): void {
    for (const token of logprobs?.content ?? []) (taken.content ??= []).push(token);
    for (const token of logprobs?.refusal ?? []) (taken.refusal ??= []).push(token);
  }

  function writeChoice([index, parts]: readonly [number, ChoiceParts]): unknown {
    const { text, reasoning, refusal = null, logprobs, calls: called, finish, sealedState } = parts;
    return {
      index,
      message: {
        role: 'assistant',
        // Null when there are only calls or a refusal, even with token probabilities.
        content: text || (called.length > 0 || refusal !== null ? null : ''),
        refusal,
        ...(reasoning !== '' && { reasoning_content: reasoning, reasoning }),
        ...(sealedState !== undefined && writeState(sealedState)),
        ...(called.length > 0 && calls.message(called)),
      },
      logprobs: logprobs.content === null && logprobs.refusal === null ? null : logprobs,
      finish_reason: calls.finishReason(finish ?? 'stop'),
    };
  }

  return {
    push: (events) => {
      for (const event of events) take(event);
    },
    finish: (bill) => {
      const { id, created, model } = identity;
      const written = [...choices].sort(([a], [b]) => a - b).map(writeChoice);
      const answer = JSON.stringify({ id, object: 'chat.completion', created, model, choices: written });
      return `${answer.slice(0, -1)},"usage":${writeUsage(bill)}}`;
    },
  };
}

/** The name of a part of a request on this surface. Only one name differs from Weir's own. */
export const fieldName = (feature: Feature): string => (feature === 'reasoning' ? 'reasoning_effort' : feature);

/** The envelope of every error (docs/reference/api.md §2.5). */
export const writeError = (failure: Failure): string => JSON.stringify({ error: errorBody(failure, fieldName) });

/** The usage block as JSON text. The cost is the exact decimal, which a float could not represent (docs/reference/api.md §2.4). */
export function writeUsage({ usage, cost }: Bill): string {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage;
  const cached = cachedTokens === undefined ? '' : `,"prompt_tokens_details":{"cached_tokens":${cachedTokens}}`;
  const reasoning =
    reasoningTokens === undefined ? '' : `,"completion_tokens_details":{"reasoning_tokens":${reasoningTokens}}`;
  return (
    `{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},` +
    `"total_tokens":${promptTokens + completionTokens}${cached}${reasoning},"cost":${formatUsd(cost)}}`
  );
}
