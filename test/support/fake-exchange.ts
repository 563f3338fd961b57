import type { Exchange } from '../../src/core/exchange.ts';
import type { Headers } from '../../src/core/headers.ts';
import { Failure } from '../../src/core/failure.ts';

export interface FakeExchange extends Exchange {
  /** Resolves when the answer has ended. */
  readonly answered: Promise<void>;
  readonly status: () => number | undefined;
  readonly headers: () => Headers;
  readonly text: () => string;
  /** How often an answer was begun; more than once is a fault of the service. */
  readonly beginnings: () => number;
  readonly endings: () => number;
  /** The caller goes away. */
  readonly leave: () => void;
  /** The service's own connection breaks: the caller goes with it. */
  readonly lose: () => void;
  /** The way to the caller fills up, and empties again. */
  readonly fill: () => void;
  readonly drain: () => void;
}

export interface FakeExchangeOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** The whole body; undefined is one that does not arrive. */
  readonly body?: string | Uint8Array | undefined;
}

/** A caller in the hand of a test. Counts what it should get only once, instead of forgiving it. */
export function createFakeExchange(options: FakeExchangeOptions = {}): FakeExchange {
  const { method = 'POST', path = '/v1/chat/completions', headers: given = {} } = options;
  const body = 'body' in options ? options.body : '';
  const controller = new AbortController();
  const answered = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  let state: 'open' | 'started' | 'over' = 'open';
  let full = false;
  let lost = false;
  let status: number | undefined;
  let sent: Headers = [];
  let text = '';
  let beginnings = 0;
  let endings = 0;
  let onDrain: (() => void)[] = [];

  function begin(code: number, headers: Headers): void {
    beginnings += 1;
    status = code;
    sent = headers;
  }

  function leave(): void {
    if (state === 'over') return;
    state = 'over';
    controller.abort();
    aborted.reject(controller.signal.reason);
  }

  function finish(last: string): void {
    state = 'over';
    endings += 1;
    text += last;
    answered.resolve();
  }

  return {
    head: {
      ...{ method, path, header: (name) => given[name] },
      ...(options.address === undefined ? {} : { address: options.address }),
    },
    signal: controller.signal,
    answered: answered.promise,
    body: async (limitBytes, upload) => {
      if (body === undefined) {
        return new Promise((_, reject) => {
          upload?.begin({ read: () => undefined, expire: reject });
          aborted.promise.catch(reject);
        });
      }
      upload?.hold(body.length, body.length);
      upload?.complete();
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
      if (bytes.length > limitBytes) throw new Failure('body_too_large', `Request body is over ${limitBytes} bytes.`);
      return bytes;
    },
    reply: (code, headers, whole) => {
      if (state !== 'open') return;
      begin(code, headers);
      finish(whole);
    },
    start: (code, headers) => {
      if (state !== 'open') return;
      state = 'started';
      begin(code, headers);
    },
    write: (piece) => {
      if (state !== 'started') return false;
      text += piece;
      return !full;
    },
    end: (last) => {
      if (state === 'started') finish(last);
    },
    onDrain: (run) => {
      onDrain.push(run);
    },
    lost: () => Promise.resolve(lost),
    started: () => state === 'started',
    status: () => status,
    headers: () => sent,
    text: () => text,
    beginnings: () => beginnings,
    endings: () => endings,
    leave,
    lose: () => {
      lost = true;
      leave();
    },
    fill: () => {
      full = true;
    },
    drain: () => {
      full = false;
      const waiting = onDrain;
      onDrain = [];
      for (const run of waiting) run();
    },
  };
}
