import { expect } from 'vitest';
import type { Continuation } from '../../src/core/capability.ts';
import type { AnswerEvent, ReadStep, ResponseReader } from '../../src/core/event.ts';
import type { Health } from '../../src/gateway/core/health.ts';
import type { Plan, PlannedRoute } from '../../src/gateway/core/plan.ts';
import type { StructureValidator } from '../../src/gateway/core/structure.ts';
import { dispatch } from '../../src/gateway/dispatch/dispatch.ts';
import type { DispatchEnd } from '../../src/gateway/dispatch/dispatch-end.ts';
import { createHedgeBudget, type HedgeBudget } from '../../src/gateway/dispatch/hedge.ts';
import type { EngineProtocol } from '../../src/gateway/dispatch/protocol.ts';
import type { RetryPolicy } from '../../src/gateway/dispatch/retries.ts';
import type { AskedOfModel } from '../../src/gateway/dispatch/running-dispatch.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createFakeUpstream, type FakeCall } from './fake-upstream.ts';
import { modelOf, plannedOfAll } from './route-of.ts';
import { steadyHealth } from './steady-health.ts';

/** The content type of `readWords`. */
export const words = { 'content-type': 'text/words' };
const decoder = new TextDecoder();

/**
 * A format of its own: `0:word` is text of choice 0, `0!` its end, `0?word` its reasoning, `=5/2` usage; pieces are parted by
 * blanks, the answer is whole when as many choices have ended as were asked for.
 */
export function readWords(choices: number): ResponseReader {
  let ended = 0;
  let state: ReadStep['state'] = 'open';
  return {
    push: (bytes) => {
      const events: AnswerEvent[] = [];
      for (const piece of decoder.decode(bytes).split(' ')) {
        const [, index = '', kind = '', said = ''] = /^(\d*)([:!?=])(.*)$/.exec(piece) ?? [];
        const choice = Number(index);
        const [promptTokens = 0, completionTokens = 0] = said.split('/').map(Number);
        if (kind === ':') events.push({ type: 'text-delta', choice, text: said, deltas: 1 });
        if (kind === '?') events.push({ type: 'reasoning-delta', choice, text: said, deltas: 1 });
        if (kind === '=') events.push({ type: 'usage', usage: { promptTokens, completionTokens } });
        if (kind === '!') {
          events.push({ type: 'finish', choice, reason: 'stop' });
          ended += 1;
        }
      }
      if (ended === choices) state = 'complete';
      return { events, state };
    },
    end: () => ({ events: [], state: state === 'open' ? { kind: 'truncated', detail: 'no end' } : state }),
  };
}

export interface DispatchGiven {
  readonly backends?: readonly string[];
  readonly asked?: Partial<AskedOfModel>;
  readonly plan?: Plan;
  readonly health?: Health;
  readonly hedges?: HedgeBudget;
  readonly idleMs?: number;
  readonly clock?: FakeClock;
  readonly request?: EngineProtocol['request'];
  readonly continuation?: EngineProtocol['continuation'];
  readonly mayRetry?: RetryPolicy['mayRetry'];
  readonly errors?: EngineProtocol['errors'];
  readonly validateWhole?: StructureValidator['validateWhole'];
}

export function runDispatch({ asked, backends = ['a', 'b', 'c'], ...given }: DispatchGiven = {}) {
  const { health = steadyHealth(), hedges = createHedgeBudget(), idleMs = 1000 } = given;
  const { mayRetry = () => true, validateWhole } = given;
  const clock = given.clock ?? createFakeClock();
  const upstream = createFakeUpstream();
  const delivered: AnswerEvent[] = [];
  const continuations: (Continuation | undefined)[] = [];
  const reasons: string[] = [];
  const steps: string[] = [];
  const wins: string[] = [];
  const faults: string[] = [];
  const controller = new AbortController();
  const request: EngineProtocol['request'] = ({ route }: PlannedRoute, endpoint, continuation) => {
    continuations.push(continuation);
    const cluster = route.backend.cluster.name;
    return { cluster, endpoint: endpoint.name, authority: 'x', path: '/', body: '', accept: 'text/event-stream' };
  };
  const running = dispatch(
    {
      plan: given.plan ?? { model: modelOf([], { hedging: 'Auto' }), routes: plannedOfAll(backends) },
      asked: { stream: true, choices: 1, cap: undefined, isJson: false, prompt: undefined, ...asked },
      protocol: {
        request: given.request ?? request,
        reader: (_, { contentType, choices }) =>
          contentType === words['content-type'] ? readWords(choices) : undefined,
        errors: given.errors ?? { needsBody: () => false, read: () => ({ engineError: 'other' }) },
        continuation: given.continuation ?? (() => ({ mark: 'flag', reasoning: false })),
      },
      retries: { mayRetry, explain: (refusedFor) => refusedFor },
      validator:
        validateWhole === undefined
          ? undefined
          : { validateWhole, take: () => undefined, streamed: () => undefined, close: () => undefined },
      countText: undefined,
      signal: controller.signal,
      deliver: (events) => delivered.push(...events),
      observer: {
        attempting: ({ route }, reason, step) => {
          reasons.push(`${route.backend.name} ${reason}`);
          steps.push(step);
          return undefined;
        },
        won: (route, reason) => wins.push(`${route.backend.name} ${reason}`),
        failed: (route, { kind }) => faults.push(`${route.backend.name} ${kind}`),
      },
    },
    { upstream, clock, idleMs, health, hedges },
  );
  let end: DispatchEnd | undefined;
  const ended = running.ended.then((result) => (end = result));
  const engine = (index: number): FakeCall => {
    const call = upstream.calls[index];
    if (call === undefined) throw new Error(`there is no call ${index}`);
    return call;
  };
  /** An engine says something, from its head on. */
  const says = (index: number, what: string): FakeCall => {
    const call = engine(index);
    call.head(200, words);
    call.data(what);
    return call;
  };
  const text = (choice = 0): string =>
    delivered.flatMap((event) => (event.type === 'text-delta' && event.choice === choice ? [event.text] : [])).join('');
  const finishes = (): readonly number[] =>
    delivered.flatMap((event) => (event.type === 'finish' ? [event.choice] : []));
  const usage = () => delivered.findLast((event) => event.type === 'usage');
  return {
    ...{
      clock,
      upstream,
      delivered,
      continuations,
      reasons,
      steps,
      faults,
      running,
      ended,
      engine,
      says,
      text,
      finishes,
      usage,
    },
    end: () => end,
    leave: () => controller.abort(),
  };
}

type Run = ReturnType<typeof runDispatch>;

/** Nothing is left behind: no timer, no call. */
export function expectQuiet({ clock, upstream }: Run): void {
  const open = ['cluster-a', 'cluster-b', 'cluster-c'].map(upstream.inFlight);
  expect({ armed: clock.armed(), open }).toEqual({ armed: 0, open: [0, 0, 0] });
}
