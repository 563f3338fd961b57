import type { Resume, Round } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { CancelTimer, Clock } from '../core/clock.ts';
import type { AnswerEvent, EngineErrorReading, Fault, ResponseReader } from '../core/event.ts';
import type { Health } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { Upstream, UpstreamCall, UpstreamStream } from '../core/upstream.ts';
import type { Join } from './continuation/merge.ts';

interface CallOptions {
  readonly affinity?: string | undefined;
  readonly resume?: Resume | undefined;
  readonly round?: Round | undefined;
}

/** The upstream call that carries a request to a route's engine; with `resume`, to go on with one choice of its answer. */
export function upstreamCall(
  prepared: PreparedRequest,
  { route, target }: PlannedRoute,
  { affinity, resume, round }: CallOptions = {},
): UpstreamCall | Promise<UpstreamCall> {
  const { backend } = route;
  const call = {
    cluster: backend.cluster.name,
    backend: backend.cluster.backend,
    authority: backend.authority,
    path: `${backend.path}/chat/completions`,
    accept: prepared.request.stream ? 'text/event-stream' : 'application/json',
    ...(affinity === undefined ? {} : { affinity }),
    ...(backend.authorization === undefined ? {} : { authorization: backend.authorization }),
  } as const;
  const body = prepared.bodyFor(
    resume === undefined && round === undefined
      ? target
      : { ...target, ...(resume === undefined ? {} : { resume }), ...(round === undefined ? {} : { round }) },
  );
  return body instanceof Promise ? body.then((bytes) => ({ ...call, body: bytes })) : { ...call, body };
}

/** An attempt on one route, ready to be made. */
export interface PreparedAttempt {
  /** Writes it; a promise where that takes a worker. */
  readonly call: () => UpstreamCall | Promise<UpstreamCall>;
  readonly readerFor: (contentType: string) => ResponseReader | undefined;
  readonly join?: Join;
}

/** How an attempt is going, told to whoever started it. `over` comes once and last. */
export interface AttemptListener {
  readonly events: (events: readonly AnswerEvent[]) => void;
  readonly over: (end: 'complete' | Fault) => void;
}

/** Makes sense of an answer whose status is no success. */
export interface ErrorReader {
  /** Whether the body has more to say than the status. */
  readonly needsBody: (status: number) => boolean;
  readonly read: (status: number, body: string) => EngineErrorReading;
}

export interface AttemptOptions {
  readonly route: Route;
  readonly call: UpstreamCall;
  /** Makes the reader for the media type that the engine answers with; undefined when it is not one we asked for. */
  readonly readerFor: (contentType: string) => ResponseReader | undefined;
  readonly errors: ErrorReader;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Longest silence, milliseconds: comments and empty chunks do not count as payload. */
  readonly idleMs: number;
}

/** One upstream call on one route. */
export interface Attempt extends UpstreamStream {
  readonly route: Route;
  /** Whether its engine has begun to answer with a success. */
  readonly hasHead: () => boolean;
}

/** Most of an error's body that is read, bytes. */
const maxErrorBytes = 64 * 1024;

/** Longest that an error's body is waited for, milliseconds: the next route waits with it. */
const maxErrorMs = 1000;

function retryAfter(value: string | undefined): { readonly retryAfterSeconds?: number } {
  return value !== undefined && /^\d{1,6}$/.test(value) ? { retryAfterSeconds: Number(value) } : {};
}

/** Longest that the end of the connection's exchange is waited for after the answer is whole, milliseconds. */
const maxLingerMs = 1000;

/** Stands in until the call has returned: it may fail before that. */
const notYet: UpstreamStream = {
  ...{ abort: () => undefined, pause: () => undefined, resume: () => undefined },
  reached: () => Promise.resolve(false),
};

/** Starts an attempt. Nothing is reported after `abort`. */
export function startAttempt(options: AttemptOptions, listener: AttemptListener): Attempt {
  const { route, upstream, clock, idleMs } = options;
  let reader: ResponseReader | undefined;
  let over = false;
  let paused = false;
  let lastPayload = clock.elapsed();
  let cancelTimer: CancelTimer = () => undefined;
  let stream = notYet;
  /** Called with each piece of an error's body, and without one when there is no more. */
  let errorBody: ((bytes?: Uint8Array) => void) | undefined;

  function finish(end: 'complete' | Fault): void {
    if (over) return;
    over = true;
    cancelTimer();
    // After a whole answer the connection can be used again, unless the engine never ends it.
    if (end === 'complete') cancelTimer = clock.after(maxLingerMs, () => stream.abort());
    else stream.abort();
    listener.over(end);
  }

  // One timer per attempt, moved when it fires and not with every chunk.
  function watch(delayMs: number): void {
    cancelTimer = clock.after(delayMs, () => {
      const left = lastPayload + idleMs - clock.elapsed();
      if (paused) watch(idleMs);
      else if (left > 0) watch(left);
      else finish({ kind: 'stalled', detail: `no payload for ${idleMs} ms` });
    });
  }

  /** Reads the body of an answer that is no success, as far as it is of use, and then gives up. */
  function readError(status: number, wait: ReturnType<typeof retryAfter>): void {
    const { errors } = options;
    const decoder = new TextDecoder();
    let text = '';
    let left = maxErrorBytes;
    errorBody = (bytes) => {
      text += bytes === undefined ? decoder.decode() : decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes?.length ?? left;
      if (left > 0) return;
      finish({ kind: 'status', status, detail: 'engine answered', ...errors.read(status, text), ...wait });
    };
    cancelTimer();
    if (errors.needsBody(status)) cancelTimer = clock.after(maxErrorMs, () => errorBody?.());
    else errorBody();
  }

  function take(step: ReturnType<ResponseReader['push']>): void {
    if (step.events.length > 0) {
      lastPayload = clock.elapsed();
      listener.events(step.events);
    }
    if (step.state !== 'open') finish(step.state);
  }

  watch(idleMs);
  const started = upstream.call(options.call, {
    head: (status, header) => {
      if (status !== 200) {
        readError(status, retryAfter(header('retry-after')));
        return;
      }
      reader = options.readerFor(header('content-type') ?? '');
      if (reader === undefined) finish({ kind: 'content-type', detail: 'unexpected content type' });
    },
    data: (bytes) => {
      if (over) return;
      if (reader !== undefined) take(reader.push(bytes));
      else errorBody?.(bytes);
    },
    ended: () => {
      if (over) {
        cancelTimer();
        return;
      }
      if (errorBody !== undefined) errorBody();
      else if (reader === undefined) finish({ kind: 'truncated', detail: 'ended without an answer' });
      else {
        take(reader.end());
        finish({ kind: 'truncated', detail: 'ended in the middle' });
        cancelTimer();
      }
    },
    failed: (reason) => {
      if (over) cancelTimer();
      if (errorBody !== undefined && !over) errorBody();
      else finish({ kind: reader === undefined ? 'connect' : 'reset', detail: reason });
    },
  });
  stream = started;
  if (over) started.abort();
  return {
    route,
    hasHead: () => reader !== undefined,
    reached: started.reached,
    abort: () => {
      over = true;
      cancelTimer();
      started.abort();
    },
    pause: () => {
      paused = true;
      started.pause();
    },
    resume: () => {
      paused = false;
      lastPayload = clock.elapsed();
      started.resume();
    },
  };
}

/** An attempt that was under way when its caller left. */
export interface LeftAttempt {
  readonly planned: PlannedRoute;
  readonly waitedMs: number;
  /** Whether its engine has begun to answer. */
  readonly hasHead: boolean;
  readonly reached: () => Promise<boolean>;
  readonly abort: () => void;
}

interface EvidenceOptions {
  readonly health: Pick<Health, 'isAnswering'>;
  readonly stream: boolean;
}

/**
 * Looks for evidence that an engine had the request of a caller who left before any output, and lets go of the engines. Only then
 * is its prompt billed (decision 0028): an engine's success has begun to arrive; or the request is on a connection to
 * an engine that is most likely at work on it. `told` is called at once unless Envoy has to be asked.
 */
export function lookForEvidence(
  left: readonly LeftAttempt[],
  { health, stream }: EvidenceOptions,
  told: (heard: boolean) => void,
): void {
  const letGo = (heard: boolean): void => {
    for (const attempt of left) attempt.abort();
    told(heard);
  };
  const likely = left.filter(({ planned, waitedMs }) => health.isAnswering(planned.route, { stream, waitedMs }));
  if (left.some(({ hasHead }) => hasHead)) letGo(true);
  else if (likely.length === 0) letGo(false);
  else {
    Promise.all(likely.map((attempt) => attempt.reached())).then(
      (reached) => letGo(reached.includes(true)),
      () => letGo(false),
    );
  }
}
