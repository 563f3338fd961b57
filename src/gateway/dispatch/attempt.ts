import type { Cause } from '../../core/cause.ts';
import type { Clock } from '../../core/clock.ts';
import {
  type AnswerEvent,
  type Fault,
  type FinishReason,
  isOutput,
  type ReadStep,
  type ResponseReader,
} from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import type { AttemptEnd, AttemptRecord } from '../core/health.ts';
import type { Usage } from '../../core/money.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { AnswerFacts } from '../core/telemetry.ts';
import type { Upstream, UpstreamCall, UpstreamStream } from '../core/upstream.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import type { EngineProtocol } from './protocol.ts';

export interface AttemptOptions {
  readonly planned: PlannedRoute;
  /** How many choices the engine is asked for. */
  readonly choices: number;
  /** How the attempt continues a choice that broke off. Undefined: it asks for the answer from its beginning. */
  readonly continuation: ChoiceContinuation | undefined;
  /** Receives the first output and the end, for the health of the endpoint. */
  readonly record: AttemptRecord;
  readonly protocol: EngineProtocol;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Longest silence, milliseconds. Comments, empty chunks and counts that do not grow do not break it. */
  readonly idleMs: number;
  /** Longest silence until the first output, milliseconds. Undefined: as later. */
  readonly firstOutputMs?: number | undefined;
}

/** Receives the progress of an attempt. `over` or `crashed` comes once and last, and neither comes after `abandon` or `leave`. */
export interface AttemptListener {
  /**
   * The request has been written, and the call goes out next. Returns the `traceparent` of the call. Undefined: the call has none.
   */
  readonly calling: () => string | undefined;
  /** Called with the name of the endpoint that answers, if it is not the chosen one. */
  readonly movedTo: (endpoint: string) => void;
  /** New output, in order. Never empty. */
  readonly events: (events: readonly AnswerEvent[]) => void;
  readonly over: (end: 'complete' | Fault) => void;
  /** The request could not be written, or the call could not be made. */
  readonly crashed: (error: unknown) => void;
}

/** One call to one endpoint of a route. */
export type Attempt = ReturnType<typeof startAttempt>;

/** Most bytes of an error's body that are read. */
const maxErrorBytes = 64 * 1024;
/** Longest wait for an error's body, milliseconds. The attempt on the next route starts only after this wait. */
const maxErrorMs = 1000;
/** Longest wait for the end of the exchange after a whole answer, milliseconds. */
const maxLingerMs = 1000;

interface RunningAttempt {
  readonly options: AttemptOptions;
  readonly listener: AttemptListener;
  /** Undefined until the call goes out. */
  stream: UpstreamStream | undefined;
  /** The call, until the engine answers with a success. */
  request: UpstreamCall | undefined;
  /** Undefined until the engine answers with a success. */
  reader: ResponseReader | undefined;
  /** Undefined unless the engine answers with an error. */
  error: EngineErrorBody | undefined;
  hasOutput: boolean;
  usage: Usage | undefined;
  /** Largest completion that the engine has reported, tokens. */
  maxCompletion: number;
  readonly finishReasons: FinishReason[];
  /** Time of the last payload, by `Clock.elapsed`. */
  lastPayload: number;
  cancelTimer: () => void;
  isPaused: boolean;
  isOver: boolean;
}

/** The body of an engine's error, as far as it has been read. */
interface EngineErrorBody {
  readonly status: number;
  readonly wait: Pick<Fault, 'retryAfterSeconds'>;
  readonly decoder: TextDecoder;
  text: string;
  /** How many more bytes of the body may be read. */
  leftBytes: number;
}

/**
 * Starts an attempt: writes its request, makes the call, reads the answer and removes what was delivered before. Throws what
 * `EngineProtocol.request` throws.
 */
export function startAttempt(options: AttemptOptions, listener: AttemptListener) {
  const { protocol, planned, record, continuation } = options;
  const running = newRunningAttempt(options, listener);
  try {
    const request = protocol.request(planned, record.endpoint, continuation?.ask);
    if (request instanceof Promise)
      request.then((written) => call(running, written)).catch((error: unknown) => crashed(running, error));
    else call(running, request);
  } catch (error) {
    abandon(running, 'aborted');
    throw error;
  }
  return {
    abort: () => abort(running),
    /**
     * Ends the attempt, if it is not over, because the race does not need it any more. `beaten`: an attempt that began later was
     * faster.
     */
    abandon: (why: 'aborted' | 'beaten') => abandon(running, why),
    /** Ends the attempt because its caller left. The call stays open until `abort`, so that `reached` can still be called. */
    leave: () => leave(running),
    /** Whether the call has gone out. */
    isCalled: () => running.stream !== undefined,
    /** Whether the engine has begun to answer with a success. */
    hasHead: () => running.reader !== undefined,
    /** What the engine has reported about its answer so far. */
    facts: () => factsOf(running),
    reached: () => running.stream?.reached() ?? Promise.resolve(false),
    pause: () => pause(running),
    resume: () => resume(running),
  };
}

function newRunningAttempt(options: AttemptOptions, listener: AttemptListener): RunningAttempt {
  return {
    options,
    listener,
    ...{ stream: undefined, request: undefined, reader: undefined, error: undefined },
    ...{ hasOutput: false, usage: undefined, maxCompletion: 0, finishReasons: [], lastPayload: 0 },
    cancelTimer: () => undefined,
    isPaused: false,
    isOver: false,
  };
}

function call(running: RunningAttempt, request: UpstreamCall): void {
  if (running.isOver) return;
  const { options, listener } = running;
  const { upstream, clock } = options;
  const traceparent = listener.calling();
  running.lastPayload = clock.elapsed();
  running.request = request;
  watchSilence(running);
  const stream = upstream.call(traceparent === undefined ? request : { ...request, traceparent }, {
    movedTo: (endpoint) => movedTo(running, endpoint),
    head: (status, header) => takeHead(running, status, header),
    data: (bytes) => takeData(running, bytes),
    ended: () => ended(running),
    failed: (reason, cause) => failed(running, reason, cause),
  });
  running.stream = stream;
  // The call may have failed before `upstream.call` returned.
  if (running.isOver) stream.abort();
  else if (running.isPaused) stream.pause();
}

function crashed({ isOver, listener }: RunningAttempt, error: unknown): void {
  if (!isOver) listener.crashed(error);
}

function movedTo(running: RunningAttempt, endpoint: string): void {
  running.listener.movedTo(endpoint);
  if (running.options.record.movedTo(endpoint) !== 'refused') return;
  finish(running, { kind: 'connect', detail: `${endpoint} answered, which may not serve this route` });
}

/** Watches for silence with one timer for each attempt. The timer is set again when it fires and at the first output, not after each chunk. */
function watchSilence(running: RunningAttempt, delayMs?: number): void {
  const { clock, idleMs, firstOutputMs = idleMs } = running.options;
  const limitMs = running.hasOutput ? idleMs : firstOutputMs;
  running.cancelTimer();
  running.cancelTimer = clock.after(delayMs ?? limitMs, () => {
    const leftMs = running.lastPayload + limitMs - clock.elapsed();
    if (running.isPaused) watchSilence(running);
    else if (leftMs > 0) watchSilence(running, leftMs);
    else finish(running, { kind: 'stalled', detail: `no payload for ${limitMs} ms` });
  });
}

function takeHead(running: RunningAttempt, status: number, header: (name: string) => string | undefined): void {
  const { protocol, planned, choices, continuation } = running.options;
  if (status !== 200) {
    readError(running, status, retryAfter(header('retry-after')));
    return;
  }
  running.request = undefined;
  const contentType = header('content-type') ?? '';
  const answerBegun = continuation?.answerBegun ?? false;
  const keepDeltas = continuation !== undefined;
  running.reader = protocol.reader(planned, { contentType, header, choices, answerBegun, keepDeltas });
  if (running.reader === undefined) finish(running, { kind: 'content-type', detail: 'unexpected content type' });
}

function takeData(running: RunningAttempt, bytes: Uint8Array): void {
  if (running.isOver) return;
  const { reader, error } = running;
  if (reader !== undefined) take(running, reader.push(bytes));
  else if (error !== undefined) takeErrorBody(running, error, bytes);
}

function ended(running: RunningAttempt): void {
  const { reader, error } = running;
  if (running.isOver) running.cancelTimer();
  else if (error !== undefined) endErrorBody(running, error);
  else if (reader === undefined) finish(running, { kind: 'truncated', detail: 'ended without an answer' });
  else {
    take(running, reader.end());
    finish(running, { kind: 'truncated', detail: 'ended in the middle' });
    // The exchange is over, and nothing else is awaited.
    running.cancelTimer();
  }
}

function failed(running: RunningAttempt, reason: string, cause: Cause | undefined): void {
  const { reader, error } = running;
  if (running.isOver) running.cancelTimer();
  else if (error !== undefined) endErrorBody(running, error);
  else finish(running, { kind: reader === undefined ? 'connect' : 'reset', detail: reason, ...(cause && { cause }) });
}

/** Reads the body of an error if it can say more than the status. Ends the attempt with the error. */
function readError(running: RunningAttempt, status: number, wait: Pick<Fault, 'retryAfterSeconds'>): void {
  const { protocol, clock } = running.options;
  const error: EngineErrorBody = { status, wait, decoder: new TextDecoder(), text: '', leftBytes: maxErrorBytes };
  running.error = error;
  running.cancelTimer();
  if (protocol.errors.needsBody(status))
    running.cancelTimer = clock.after(maxErrorMs, () => endErrorBody(running, error));
  else endErrorBody(running, error);
}

function takeErrorBody(running: RunningAttempt, error: EngineErrorBody, bytes: Uint8Array): void {
  error.text += error.decoder.decode(bytes.subarray(0, error.leftBytes), { stream: true });
  error.leftBytes -= bytes.length;
  if (error.leftBytes <= 0) finishWithError(running, error);
}

function endErrorBody(running: RunningAttempt, error: EngineErrorBody): void {
  error.text += error.decoder.decode();
  finishWithError(running, error);
}

function finishWithError(running: RunningAttempt, { status, text, wait }: EngineErrorBody): void {
  const { protocol, continuation } = running.options;
  const reading = protocol.errors.read(status, text, running.request);
  const fault: Fault = { kind: 'status', status, detail: 'engine answered', ...reading, ...wait };
  // Another engine has answered the request without the partial answer.
  const cannotContinue = continuation?.ask.partial !== undefined && causeOf(fault) === 'refuses-request';
  finish(running, cannotContinue ? { ...fault, cause: 'cannot-continue' } : fault);
}

/** Passes each piece of the answer from the engine's reader to the race. */
function take(running: RunningAttempt, { events, state }: ReadStep): void {
  if (events.length > 0) {
    const { options, listener } = running;
    const { continuation } = options;
    note(running, events);
    const fresh = continuation === undefined ? events : continuation.merge.push(events);
    if (fresh === undefined) finish(running, { kind: 'disjoint', detail: 'does not continue the answer' });
    else if (fresh.length > 0) listener.events(fresh);
  }
  if (state !== 'open') finish(running, state);
}

function note(running: RunningAttempt, events: readonly AnswerEvent[]): void {
  const { clock, record } = running.options;
  const before = running.maxCompletion;
  for (const event of events) {
    if (event.type === 'usage') {
      running.usage = event.usage;
      running.maxCompletion = Math.max(running.maxCompletion, event.usage.completionTokens);
    } else if (event.type === 'finish') running.finishReasons.push(event.reason);
  }
  const hasOutput = events.some(isOutput);
  // Without output, only a growing count shows that the engine is at work.
  if (hasOutput || running.maxCompletion > before) running.lastPayload = clock.elapsed();
  if (running.hasOutput || !hasOutput) return;
  running.hasOutput = true;
  const { idleMs, firstOutputMs = idleMs } = running.options;
  if (firstOutputMs !== idleMs) watchSilence(running);
  record.output();
}

function finish(running: RunningAttempt, end: 'complete' | Fault): void {
  if (running.isOver) return;
  const { options, listener, usage, stream } = running;
  running.isOver = true;
  running.cancelTimer();
  // After a whole answer, waits for the end of the exchange, so that the connection can be used again. Some engines never end it.
  if (end === 'complete') running.cancelTimer = options.clock.after(maxLingerMs, () => running.stream?.abort());
  else stream?.abort();
  options.record.ended(end === 'complete' ? completeEnd(usage) : { kind: 'failed', fault: end });
  listener.over(end);
}

function completeEnd(usage: Usage | undefined): AttemptEnd {
  const { completionTokens: tokens, promptTokens, cachedTokens } = usage ?? {};
  const isReported = promptTokens !== undefined && cachedTokens !== undefined;
  return { kind: 'complete', tokens, prompt: isReported ? { tokens: promptTokens, cachedTokens } : undefined };
}

function abort(running: RunningAttempt): void {
  running.isOver = true;
  running.cancelTimer();
  running.stream?.abort();
}

function abandon(running: RunningAttempt, why: 'aborted' | 'beaten'): void {
  if (running.isOver) return;
  running.options.record.ended({ kind: why });
  abort(running);
}

function leave(running: RunningAttempt): void {
  if (running.isOver) return;
  running.isOver = true;
  running.options.record.ended({ kind: 'aborted' });
}

function pause(running: RunningAttempt): void {
  running.isPaused = true;
  running.stream?.pause();
}

/** The time of the pause does not count as silence. */
function resume(running: RunningAttempt): void {
  running.isPaused = false;
  running.lastPayload = running.options.clock.elapsed();
  running.stream?.resume();
}

const factsOf = ({ reader, usage, finishReasons }: RunningAttempt): AnswerFacts => ({
  model: reader?.model?.(),
  usage,
  finishReasons,
});

function retryAfter(value: string | undefined): Pick<Fault, 'retryAfterSeconds'> {
  return value !== undefined && /^\d{1,6}$/.test(value) ? { retryAfterSeconds: Number(value) } : {};
}
