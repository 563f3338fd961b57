import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import {
  aheadTokens,
  computed,
  delayMs,
  type EndpointState,
  measured,
  ownTokensOf,
  settleUnseen,
  speedOf,
  underWay,
  type UnseenPrompt,
  waitedTokens,
  type WaitingStream,
} from './endpoint-state.ts';
import type { PromptTokens } from './prefill.ts';

export type PoolAttempt = ReturnType<typeof beginAttempt>;

interface AttemptState {
  readonly begunAt: number;
  /** Expected until the first token. */
  readonly expectedMs: number;
  readonly work: PromptTokens;
  /** Attempts at the endpoint at the beginning, this one included. */
  readonly underWay: number;
  first: { readonly at: number; readonly underWay: number } | undefined;
  isOver: boolean;
}

/** Begins an attempt, as the knowledge of its endpoint follows it. */
export function beginAttempt(
  endpoint: EndpointState,
  begunAt: number,
  { prompt, stream }: { readonly prompt: PoolPrompt; readonly stream: boolean },
) {
  settleUnseen(endpoint, begunAt);
  const { held, own } = endpoint;
  const expected = held.tokensOf(prompt);
  const ownTokens = ownTokensOf(prompt, expected);
  const work: PromptTokens = { own: ownTokens, ahead: aheadTokens(endpoint, begunAt) };
  held.use(prompt);
  endpoint.usualTokens.add(begunAt, ownTokens);
  own.aheadTokens += ownTokens;
  own.underWay += 1;
  endpoint.isUntried = false;
  const expectedMs = speedOf(endpoint).msFor(ownTokens + waitedTokens(endpoint, work.ahead));
  /** What the attempt still adds to the tokens ahead. */
  const mine: UnseenPrompt = { tokens: ownTokens, until: begunAt + expectedMs };
  const waits: WaitingStream = { begunAt, expectedMs };
  const state: AttemptState = {
    begunAt,
    expectedMs,
    work,
    underWay: underWay(endpoint, begunAt),
    first: undefined,
    isOver: false,
  };
  if (stream) endpoint.waiting.add(waits);
  else endpoint.unseen.push(mine);
  endpoint.uncomputed.add(mine);
  const end = (): void => {
    state.isOver = true;
    endpoint.waiting.delete(waits);
    computed(endpoint, mine);
    own.underWay -= 1;
  };
  return {
    /** Tokens of the prompt that the endpoint computes. */
    tokens: ownTokens,
    /** Expected time by which the work on the prompt delays those behind it, ms. */
    workMs: delayMs(endpoint, ownTokens),
    /** True: the first token came much sooner than was known of the endpoint. */
    first: (now: number): boolean => {
      if (state.first !== undefined || state.isOver || !stream) return false;
      state.first = { at: now, underWay: underWay(endpoint, now) };
      endpoint.waiting.delete(waits);
      computed(endpoint, mine);
      return measured(endpoint, { ...work, ms: now - begunAt, isSeen: true });
    },
    /** The engine has reported how many tokens of the prompt it had in its cache. Both are counts of the engine, not of `PoolPrompt`. */
    cached: (report: { readonly promptTokens: number; readonly cachedTokens: number }): void => {
      const { promptTokens, cachedTokens } = report;
      if (promptTokens > 0) held.reported({ expected, actual: cachedTokens, scale: prompt.tokens / promptTokens });
    },
    /**
     * Call `completed` or `failed` last; later calls have no effect. `outputTokens`: undefined where they are not known. True: an
     * answer that did not stream shows that its first token came much sooner than was known.
     */
    completed: (now: number, outputTokens: number | undefined): boolean => {
      if (state.isOver) return false;
      held.leave(prompt);
      const isFaster = outputTokens !== undefined && learn(endpoint, state, { now, tokens: outputTokens });
      end();
      return isFaster;
    },
    failed: (): void => {
      if (state.isOver) return;
      if (state.first === undefined) held.fail(prompt, expected);
      else held.leave(prompt);
      end();
    },
  };
}

/** Learns from a complete answer. True: it shows only now that its first token came much sooner than was known. */
function learn(
  endpoint: EndpointState,
  { begunAt, expectedMs, work, underWay: atBegin, first }: AttemptState,
  { now, tokens }: { readonly now: number; readonly tokens: number },
): boolean {
  const { answers } = endpoint;
  const beside = ((first?.underWay ?? atBegin) + underWay(endpoint, now)) / 2 - 1;
  if (first !== undefined) {
    answers.measured(now, { tokens, ms: now - first.at, beside });
    return false;
  }
  // Without a visible first token, an answer shows its time only if the rest was short beside it, or if all came sooner.
  const tookMs = now - begunAt;
  const restMs = answers.outputMs(tokens, beside);
  if (restMs > tookMs / 2 && tookMs >= expectedMs) return false;
  return measured(endpoint, { ...work, ms: Math.max(tookMs - restMs, tookMs / 2), isSeen: false });
}
