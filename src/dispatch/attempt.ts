import type { Clock } from '../core/clock.ts';
import { type AnswerEvent, type Fault, type FinishReason, isOutput, type ResponseReader } from '../core/event.ts';
import type { AttemptPlace, AttemptRecord, Health } from '../core/health.ts';
import type { Usage } from '../core/money.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { AnswerFacts } from '../core/telemetry.ts';
import type { Upstream, UpstreamCall, UpstreamStream } from '../core/upstream.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import type { EngineProtocol } from './protocol.ts';

export interface AttemptOptions {
  readonly planned: PlannedRoute;
  /** How many choices the engine is asked for. */
  readonly choices: number;
  /** Undefined: the answer is asked for from its beginning. */
  readonly continuation: ChoiceContinuation | undefined;
  /** The endpoint's health hears of the first output and of the end here. */
  readonly record: AttemptRecord;
  readonly protocol: EngineProtocol;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Longest silence, milliseconds. Comments and empty chunks do not break it. */
  readonly idleMs: number;
}

/** Receives the progress of an attempt. `over` or `crashed` comes once and last, and neither comes after `abandon` or `leave`. */
export interface AttemptListener {
  /** The request has been written, and the call goes out next. Returns the `traceparent` that goes with it, if any does. */
  readonly calling: () => string | undefined;
  /** Another endpoint answers than was chosen, by its name. */
  readonly movedTo: (endpoint: string) => void;
  /** What is new in the answer, in order; never empty. */
  readonly events: (events: readonly AnswerEvent[]) => void;
  readonly over: (end: 'complete' | Fault) => void;
  /** The request could not be written. */
  readonly crashed: (error: unknown) => void;
}

/** One call to one endpoint of a route. */
export interface Attempt extends UpstreamStream {
  /** Ends the attempt for the sake of another one, unless it is over. `beaten`: one that began later was faster. */
  readonly abandon: (why: 'aborted' | 'beaten') => void;
  /** Ends the attempt because its caller left. The call stays open until `abort`, so that `reached` can be asked. */
  readonly leave: () => void;
  /** Whether the call has gone out. */
  readonly isCalled: () => boolean;
  /** Whether the engine has begun to answer with a success. */
  readonly hasHead: () => boolean;
  /** What the engine has said of its answer so far. */
  readonly facts: () => AnswerFacts;
}

/** Most bytes of an error's body that are read. */
const maxErrorBytes = 64 * 1024;
/** Longest wait for an error's body, milliseconds: the next route waits with it. */
const maxErrorMs = 1000;
/** Longest wait for the end of the exchange after a whole answer, milliseconds. */
const maxLingerMs = 1000;

/**
 * Starts an attempt: writes its request, makes the call, reads the answer and takes off what had been delivered before. Throws
 * what `EngineProtocol.request` throws.
 */
export function startAttempt(options: AttemptOptions, listener: AttemptListener): Attempt {
  const { planned, choices, continuation, record, protocol, upstream, clock, idleMs } = options;
  const merge = continuation?.merge;
  const answerBegun = continuation?.answerBegun ?? false;
  let stream: UpstreamStream | undefined;
  let reader: ResponseReader | undefined;
  let isOver = false;
  let isPaused = false;
  let hasOutput = false;
  let usage: Usage | undefined;
  const finishReasons: FinishReason[] = [];
  let lastPayload = 0;
  let cancelTimer = (): void => undefined;
  /** Called with each piece of an error's body, and without one at its end. */
  let takeErrorBody: ((bytes?: Uint8Array) => void) | undefined;

  function call(request: UpstreamCall): void {
    if (isOver) return;
    const traceparent = listener.calling();
    lastPayload = clock.elapsed();
    watchSilence(idleMs);
    const traced = traceparent === undefined ? request : { ...request, traceparent };
    const called = upstream.call(traced, { movedTo, head, data, ended, failed });
    stream = called;
    if (isOver) called.abort();
    else if (isPaused) called.pause();
  }

  function movedTo(endpoint: string): void {
    record.movedTo(endpoint);
    listener.movedTo(endpoint);
  }

  /** One timer per attempt, moved when it fires and not with every chunk. */
  function watchSilence(delayMs: number): void {
    cancelTimer = clock.after(delayMs, () => {
      const leftMs = lastPayload + idleMs - clock.elapsed();
      if (isPaused) watchSilence(idleMs);
      else if (leftMs > 0) watchSilence(leftMs);
      else finish({ kind: 'stalled', detail: `no payload for ${idleMs} ms` });
    });
  }

  function head(status: number, header: (name: string) => string | undefined): void {
    if (status !== 200) {
      readError(status, retryAfter(header('retry-after')));
      return;
    }
    reader = protocol.reader(planned, { contentType: header('content-type') ?? '', choices, answerBegun });
    if (reader === undefined) finish({ kind: 'content-type', detail: 'unexpected content type' });
  }

  function data(bytes: Uint8Array): void {
    if (isOver) return;
    if (reader !== undefined) take(reader.push(bytes));
    else takeErrorBody?.(bytes);
  }

  function ended(): void {
    if (isOver) cancelTimer();
    else if (takeErrorBody !== undefined) takeErrorBody();
    else if (reader === undefined) finish({ kind: 'truncated', detail: 'ended without an answer' });
    else {
      take(reader.end());
      finish({ kind: 'truncated', detail: 'ended in the middle' });
      // The exchange is over: nothing is left to wait for.
      cancelTimer();
    }
  }

  function failed(reason: string): void {
    if (isOver) cancelTimer();
    else if (takeErrorBody !== undefined) takeErrorBody();
    else finish({ kind: reader === undefined ? 'connect' : 'reset', detail: reason });
  }

  /** Reads the body of an error as far as it is of use, and ends the attempt with it. */
  function readError(status: number, wait: Pick<Fault, 'retryAfterSeconds'>): void {
    const { errors } = protocol;
    const decoder = new TextDecoder();
    let text = '';
    let left = maxErrorBytes;
    takeErrorBody = (bytes) => {
      text += bytes === undefined ? decoder.decode() : decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes?.length ?? left;
      if (left > 0) return;
      finish({ kind: 'status', status, detail: 'engine answered', ...errors.read(status, text), ...wait });
    };
    cancelTimer();
    if (errors.needsBody(status)) cancelTimer = clock.after(maxErrorMs, () => takeErrorBody?.());
    else takeErrorBody();
  }

  function take({ events, state }: ReturnType<ResponseReader['push']>): void {
    if (events.length > 0) {
      lastPayload = clock.elapsed();
      for (const event of events) {
        if (event.type === 'usage') ({ usage } = event);
        else if (event.type === 'finish') finishReasons.push(event.reason);
      }
      if (!hasOutput && events.some(isOutput)) {
        hasOutput = true;
        record.output();
      }
      const fresh = merge === undefined ? events : merge.push(events);
      if (fresh === undefined) finish({ kind: 'disjoint', detail: 'does not go on where the answer broke off' });
      else if (fresh.length > 0) listener.events(fresh);
    }
    if (state !== 'open') finish(state);
  }

  function finish(end: 'complete' | Fault): void {
    if (isOver) return;
    isOver = true;
    cancelTimer();
    // After a whole answer the connection can be used again, unless the engine never ends the exchange.
    if (end === 'complete') cancelTimer = clock.after(maxLingerMs, () => stream?.abort());
    else stream?.abort();
    record.ended(
      end === 'complete' ? { kind: 'complete', tokens: usage?.completionTokens } : { kind: 'failed', fault: end },
    );
    listener.over(end);
  }

  function abort(): void {
    isOver = true;
    cancelTimer();
    stream?.abort();
  }

  function abandon(why: 'aborted' | 'beaten'): void {
    if (isOver) return;
    record.ended({ kind: why });
    abort();
  }

  try {
    const request = protocol.request(planned, record.endpoint, continuation?.ask);
    if (request instanceof Promise) request.then(call, listener.crashed);
    else call(request);
  } catch (error) {
    abandon('aborted');
    throw error;
  }
  return {
    abort,
    abandon,
    leave: () => {
      if (isOver) return;
      isOver = true;
      record.ended({ kind: 'aborted' });
    },
    isCalled: () => stream !== undefined,
    hasHead: () => reader !== undefined,
    facts: () => ({ model: reader?.model?.(), usage, finishReasons }),
    reached: () => stream?.reached() ?? Promise.resolve(false),
    pause: () => {
      isPaused = true;
      stream?.pause();
    },
    resume: () => {
      isPaused = false;
      lastPayload = clock.elapsed();
      stream?.resume();
    },
  };
}

function retryAfter(value: string | undefined): Pick<Fault, 'retryAfterSeconds'> {
  return value !== undefined && /^\d{1,6}$/.test(value) ? { retryAfterSeconds: Number(value) } : {};
}

/** An attempt that was under way when its caller left. */
export interface LeftAttempt {
  readonly attempt: Pick<Attempt, 'hasHead' | 'reached' | 'abort'>;
  readonly at: AttemptPlace;
  readonly waitedMs: number;
}

/**
 * Looks for evidence that an engine had the request of a caller who left before any output, and then closes the calls. Only with
 * evidence is the prompt billed (decision 0028): an engine's success has begun to arrive, or the request is on a connection to
 * an engine that is most likely at work on it. Calls `answer` at once unless Envoy has to be asked.
 */
export function lookForEvidence(
  left: readonly LeftAttempt[],
  { health, stream }: { readonly health: Pick<Health, 'isAnswering'>; readonly stream: boolean },
  answer: (heard: boolean) => void,
): void {
  const close = (heard: boolean): void => {
    for (const { attempt } of left) attempt.abort();
    answer(heard);
  };
  const likely = left.filter(({ at, waitedMs }) => health.isAnswering(at, { stream, waitedMs }));
  if (left.some(({ attempt }) => attempt.hasHead())) close(true);
  else if (likely.length === 0) close(false);
  else {
    Promise.all(likely.map(({ attempt }) => attempt.reached())).then(
      (reached) => close(reached.includes(true)),
      () => close(false),
    );
  }
}
