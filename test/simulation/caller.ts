import { Buffer } from 'node:buffer';
import { answerPaths } from '../../src/core/api-paths.ts';
import type { Exchange } from '../../src/core/exchange.ts';
import { Failure } from '../../src/core/failure.ts';
import { tagsOf } from './accounts.ts';
import type { RequestEvent } from './events.ts';
import { bodyOf, type EarlierAnswer } from './expected-answer.ts';
import type { Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';
import { hasVectors, vectorPath } from './vectors.ts';

/** How an exchange ended for its caller. `broken`: the connection broke. `left`: the caller broke it. */
export type CallEnd = 'open' | 'ended' | 'broken' | 'left';

/** A caller's side of one exchange. */
export interface Call {
  readonly event: RequestEvent;
  /** The call whose answer it goes on from. */
  readonly earlier: EarlierAnswer | undefined;
  /** The text of its key. */
  readonly key: string;
  /** The name of the program that it was sent to. */
  readonly program: string;
  readonly startedAt: number;
  /** Undefined: no head has come. */
  readonly status: () => number | undefined;
  readonly body: () => string;
  /** What the service has written of the answer, whether or not it has reached the caller. Undefined: only the service knows. */
  readonly written: () => string | undefined;
  /** When the first of the answer came. */
  readonly headAt: () => number | undefined;
  readonly end: () => CallEnd;
  readonly endedAt: () => number;
  /** Breaks the connection from the service's side. */
  readonly breakOff: () => void;
}

/** Bytes between service and caller, above which the way is full. */
const fullBytes = 4_096;
const wayMs = 0.3;
/** In so many parts a slow body arrives. */
const uploadParts = 4;

/**
 * Sends a request to a service. The way between the two takes a moment, keeps the order, and fills up in front of a slow
 * reader.
 */
export function call(
  event: RequestEvent,
  options: {
    readonly scheduler: Scheduler;
    readonly program: Program;
    readonly key: string;
    readonly earlier: EarlierAnswer | undefined;
    readonly handle: (exchange: Exchange) => void;
    /** Runs whenever something has reached the caller, and at the end. */
    readonly onEnd: (call: Call) => void;
  },
): Call {
  const { scheduler, program, handle, earlier, onEnd } = options;
  const startedAt = scheduler.now();
  const controller = new AbortController();
  const pieces: string[] = [];
  const written: string[] = [];
  let status: number | undefined;
  let headAt: number | undefined;
  let end: CallEnd = 'open';
  let endedAt = 0;
  let isLost = false;
  // The service's view.
  let phase: 'open' | 'started' | 'over' = 'open';
  let waitingBytes = 0;
  let readyAt = 0;
  let onDrain: (() => void)[] = [];
  const cancels: (() => void)[] = [];

  function finish(how: CallEnd): void {
    if (end !== 'open') return;
    end = how;
    endedAt = scheduler.now();
    for (const cancel of cancels) cancel();
    onEnd(received);
  }

  /** To the caller, after what was sent before. */
  function send(bytes: number, run: () => void): void {
    if (!program.isAlive()) return;
    const { readsPerMs } = event;
    const readMs = readsPerMs === undefined ? 0 : bytes / readsPerMs;
    readyAt = Math.max(readyAt, scheduler.now() + wayMs) + readMs + 0.000_001;
    scheduler.after(readyAt - scheduler.now(), () => {
      if (end === 'open') run();
      waitingBytes -= bytes;
      if (waitingBytes > fullBytes / 2 || onDrain.length === 0) return;
      const runs = onDrain;
      onDrain = [];
      for (const each of runs) program.deliver(0.01, each);
    });
    waitingBytes += bytes;
  }

  /** At the service: nothing more can be sent. */
  function abort(): void {
    if (phase === 'over') return;
    phase = 'over';
    controller.abort();
  }

  const text = JSON.stringify(bodyOf(event, earlier));
  const tags = tagsOf(event.id);
  const headers: Readonly<Record<string, string>> = {
    ...(event.surface === 'messages' ? { 'x-api-key': options.key } : { authorization: `Bearer ${options.key}` }),
    ...{ 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-request-id': `r${event.id}` },
    ...(tags === undefined ? {} : { 'x-weir-tags': tags }),
  };
  const exchange: Exchange = {
    head: {
      ...{ method: 'POST', path: hasVectors(event) ? vectorPath(event) : answerPaths[event.surface] },
      ...{ header: (name) => headers[name], address: `192.0.2.${event.key + 1}` },
    },
    signal: controller.signal,
    body: (limit, upload) =>
      new Promise((resolve, reject) => {
        // As the real exchange does, whose caller may leave while its key is looked up.
        if (controller.signal.aborted) {
          reject(controller.signal.reason);
          return;
        }
        upload?.begin({ read: () => undefined, expire: reject });
        controller.signal.addEventListener('abort', () => reject(controller.signal.reason));
        const bytes = new Uint8Array(Buffer.from(text));
        const { ms = 0.2, stalls = false } = event.upload ?? {};
        for (let part = 1; part < (event.upload === undefined ? 1 : uploadParts); part += 1)
          program.deliver((ms * part) / uploadParts, () => {
            if (controller.signal.aborted) return;
            const arrived = Math.floor((bytes.length * part) / uploadParts);
            upload?.hold(arrived, arrived);
          });
        if (stalls) return;
        program.deliver(ms, () => {
          try {
            upload?.hold(bytes.length, bytes.length);
            upload?.complete();
            if (bytes.length > limit) throw new Failure('body_too_large', 'too large');
            resolve(bytes);
          } catch (error) {
            reject(error);
          }
        });
      }),
    reply: (code, _, body) => {
      if (phase !== 'open') return;
      phase = 'over';
      send(body.length, () => {
        status = code;
        headAt ??= scheduler.now();
        pieces.push(body);
        finish('ended');
      });
    },
    start: (code) => {
      if (phase !== 'open') return;
      phase = 'started';
      send(0, () => {
        headAt ??= scheduler.now();
        status = code;
      });
    },
    write: (piece) => {
      if (phase !== 'started') return false;
      written.push(piece);
      send(piece.length, () => void pieces.push(piece));
      return waitingBytes < fullBytes;
    },
    onDrain: (run) => {
      if (waitingBytes < fullBytes) program.deliver(0.01, run);
      else onDrain.push(run);
    },
    end: (last) => {
      if (phase !== 'started') return;
      phase = 'over';
      written.push(last);
      send(last.length, () => {
        pieces.push(last);
        finish('ended');
      });
    },
    lost: () => new Promise((resolve) => program.deliver(0.1, () => resolve(isLost))),
    started: () => phase === 'started',
  };
  const received: Call = {
    ...{ event, earlier, startedAt, key: options.key, program: program.name },
    status: () => status,
    body: () => pieces.join(''),
    written: () => written.join(''),
    headAt: () => headAt,
    end: () => end,
    endedAt: () => endedAt,
    breakOff: () => {
      isLost = true;
      finish('broken');
      program.deliver(0.1, abort);
    },
  };
  program.deliver(wayMs, () => handle(exchange));
  if (event.leavesAfterMs !== undefined) {
    cancels.push(
      scheduler.after(event.leavesAfterMs, () => {
        finish('left');
        program.deliver(wayMs, abort);
      }),
    );
  }
  return received;
}
