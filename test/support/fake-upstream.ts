import type { Cause } from '../../src/core/cause.ts';
import type { Upstream, UpstreamCall, UpstreamListener } from '../../src/gateway/core/upstream.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One call that was made, and the engine's side of it: what is said here reaches the listener at once. */
export interface FakeCall {
  /** Its body is text. */
  readonly call: UpstreamCall;
  readonly aborted: () => boolean;
  readonly paused: () => boolean;
  readonly head: (status: number, headers?: Readonly<Record<string, string>>) => void;
  readonly movedTo: (endpoint: string) => void;
  readonly data: (piece: string | Uint8Array) => void;
  readonly end: () => void;
  readonly fail: (reason: string, cause?: Cause) => void;
  /** Head, body and end of a whole answer. */
  readonly answer: (contentType: string, body: string) => void;
}

export interface FakeUpstream extends Upstream {
  readonly calls: readonly FakeCall[];
  /** The call with this number, counted from 0, as soon as it is made. */
  readonly called: (index: number) => Promise<FakeCall>;
}

/**
 * Engines in the hand of a test. Ruder than the contract: it goes on talking after an abort, so that a test sees who
 * listens. With `refuses`, calls fail before `call` has returned, as undici does with one it cannot send.
 */
export function createFakeUpstream(
  options: {
    readonly refuses?: (call: UpstreamCall) => boolean;
    /** The answer for every call: whether it is on a connection. */
    readonly reaches?: boolean;
  } = {},
): FakeUpstream {
  const calls: FakeCall[] = [];
  const waiting = new Map<number, (call: FakeCall) => void>();
  const open = new Map<FakeCall, string>();

  function fakeCall(
    call: UpstreamCall,
    listener: UpstreamListener,
    state: { aborted: boolean; paused: boolean },
  ): FakeCall {
    const over = (): boolean => open.delete(fake);
    const body = typeof call.body === 'string' ? call.body : decoder.decode(call.body);
    const fake: FakeCall = {
      call: { ...call, body },
      aborted: () => state.aborted,
      paused: () => state.paused,
      head: (status, headers = {}) => listener.head(status, (name) => headers[name]),
      movedTo: (endpoint) => listener.movedTo?.(endpoint),
      data: (piece) => listener.data(typeof piece === 'string' ? encoder.encode(piece) : piece),
      end: () => {
        over();
        listener.ended();
      },
      fail: (reason, cause) => {
        over();
        listener.failed(reason, cause);
      },
      answer: (contentType, body) => {
        fake.head(200, { 'content-type': contentType });
        fake.data(body);
        fake.end();
      },
    };
    return fake;
  }

  return {
    calls,
    called: (index) => {
      const made = calls[index];
      return made === undefined ? new Promise((resolve) => waiting.set(index, resolve)) : Promise.resolve(made);
    },
    inFlight: (cluster) => [...open.values()].filter((name) => name === cluster).length,
    call: (call, listener) => {
      const state = { aborted: false, paused: false };
      const fake = fakeCall(call, listener, state);
      open.set(fake, call.cluster);
      waiting.get(calls.length)?.(fake);
      calls.push(fake);
      if (options.refuses?.(call) === true) fake.fail('UND_ERR_INVALID_ARG');
      return {
        reached: () => Promise.resolve(options.reaches ?? false),
        abort: () => {
          state.aborted = true;
          open.delete(fake);
        },
        pause: () => {
          state.paused = true;
        },
        resume: () => {
          state.paused = false;
        },
      };
    },
  };
}
