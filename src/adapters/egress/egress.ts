import type { Upstream, UpstreamCall, UpstreamListener, UpstreamStream } from '../../core/upstream.ts';
import { ByNumber } from '../../core/by-number.ts';
import { type Answered, Connection } from './connection.ts';
import { requestBytes } from './request-bytes.ts';
import type { ResponseHead } from './response-reader.ts';

/** Envoy answers with it when it has no answer of an engine: its response flags, such as `UF` for a failed connection. */
const egressFailureHeader = 'x-weir-egress-failure';

/** Below Envoy's own idle limit on this listener, so that we close first and never write into a closing connection. */
const idleMs = 20_000;

/** Calls upstream that wait for a connection, and that have one, by the name of their backend; undefined when unknown. */
export type CountUpstream = (
  backend: string,
) => Promise<{ readonly active: number; readonly pending: number } | undefined>;

/** One call, from its connection to its end. */
class EgressCall implements Answered, UpstreamStream {
  readonly #listener: UpstreamListener;
  readonly #over: () => void;
  readonly #reached: () => Promise<boolean>;
  #connection: Connection | undefined;
  #state: 'open' | 'over' = 'open';

  constructor(
    listener: UpstreamListener,
    { over, reached }: { readonly over: () => void; readonly reached: () => Promise<boolean> },
  ) {
    this.#listener = listener;
    this.#over = over;
    this.#reached = reached;
  }

  reached = (): Promise<boolean> => this.#reached();

  /** Sends it. `connection` is its own until the answer has ended. */
  send(connection: Connection, pieces: readonly Uint8Array[]): void {
    this.#connection = connection;
    connection.send(pieces, this);
  }

  abort = (): void => {
    const connection = this.#connection;
    if (this.#finish()) connection?.destroy();
  };

  pause = (): void => this.#connection?.pause();

  resume = (): void => this.#connection?.resume();

  head({ status, headers }: ResponseHead): void {
    const failure = headers.get(egressFailureHeader);
    if (failure === undefined) this.#listener.head(status, (name) => headers.get(name));
    else {
      this.abort();
      this.#listener.failed(`Envoy ${failure}`);
    }
  }

  data = (bytes: Buffer): void => {
    if (this.#state === 'open') this.#listener.data(bytes);
  };

  ended(): void {
    if (this.#finish()) this.#listener.ended();
  }

  failed(reason: string): void {
    if (this.#finish()) this.#listener.failed(reason);
  }

  #finish(): boolean {
    if (this.#state === 'over') return false;
    this.#state = 'over';
    this.#connection = undefined;
    this.#over();
    return true;
  }
}

export interface Egress extends Upstream {
  readonly close: () => Promise<void>;
}

/**
 * Calls engines through Envoy's egress listener. Envoy owns TLS, pools, health and circuit breaking; the header
 * `x-weir-cluster` names the cluster. No timeout is set here: dispatch knows when an attempt is too quiet.
 */
export function createEgress(options: {
  readonly socketPath: string;
  /** Absent: whether a call has reached its engine is never known. */
  readonly countUpstream?: CountUpstream;
}): Egress {
  /** By cluster, and by number in the order in which they were made. */
  const inFlight = new Map<string, ByNumber<EgressCall>>();
  let made = 0;
  const open = new Set<Connection>();
  /** The latest used last: it is the one to use again. */
  const idle: { readonly connection: Connection; readonly since: number }[] = [];
  let sweep: NodeJS.Timeout | undefined;
  let closed = false;
  const gone = Promise.withResolvers<void>();

  function takeConnection(): Connection {
    const last = idle.pop();
    if (last !== undefined) return last.connection;
    const connection = new Connection({
      socketPath: options.socketPath,
      idle: (free) => {
        idle.push({ connection: free, since: performance.now() });
        sweep ??= setInterval(closeIdle, idleMs / 4).unref();
      },
      closed: (lost) => {
        open.delete(lost);
        const at = idle.findIndex((each) => each.connection === lost);
        if (at !== -1) idle.splice(at, 1);
        if (closed && open.size === 0) gone.resolve();
      },
    });
    open.add(connection);
    return connection;
  }

  /**
   * Envoy does not tell it of a single call. It gives connections in the order in which calls come, so those that wait for
   * one are the latest: this one is not among them when as many have been made since.
   */
  async function hasReached(
    call: EgressCall,
    { calls, backend }: { readonly calls: ByNumber<EgressCall>; readonly backend: string | undefined },
  ): Promise<boolean> {
    if (backend === undefined || options.countUpstream === undefined) return false;
    const place = calls.values().indexOf(call) + 1;
    const later = calls.size - place;
    const counted = await options.countUpstream(backend);
    if (counted === undefined || place === 0) return false;
    return counted.pending <= later && counted.active + counted.pending >= place;
  }

  function closeIdle(): void {
    const before = performance.now() - idleMs;
    while (idle[0] !== undefined && idle[0].since < before) idle.shift()?.connection.destroy();
    if (idle.length > 0) return;
    clearInterval(sweep);
    sweep = undefined;
  }

  return {
    call: (call: UpstreamCall, listener) => {
      const { cluster } = call;
      const calls = inFlight.get(cluster) ?? new ByNumber();
      const number = (made += 1);
      inFlight.set(cluster, calls);
      const started = new EgressCall(listener, {
        over: () => {
          calls.delete(number);
          if (calls.size === 0) inFlight.delete(cluster);
        },
        reached: () => hasReached(started, { calls, backend: call.backend }),
      });
      calls.set(number, started);
      const pieces = requestBytes(call);
      if (closed) started.failed('EGRESS_CLOSED');
      else if (pieces === undefined) started.failed('INVALID_REQUEST');
      else started.send(takeConnection(), pieces);
      return started;
    },
    inFlight: (cluster) => inFlight.get(cluster)?.size ?? 0,
    close: () => {
      closed = true;
      clearInterval(sweep);
      for (const connection of open) connection.fail('EGRESS_CLOSED');
      if (open.size === 0) gone.resolve();
      return gone.promise;
    },
  };
}
