import type { Upstream, UpstreamCall, UpstreamListener, UpstreamStream } from '../../core/upstream.ts';
import { type Answered, Connection } from './connection.ts';
import { requestBytes } from './request-bytes.ts';
import type { ResponseHead } from './response-reader.ts';

/** Envoy answers with it when it has no answer of an engine: its response flags, such as `UF` for a failed connection. */
const egressFailureHeader = 'x-weir-egress-failure';

/** Below Envoy's own idle limit on this listener, so that we close first and never write into a closing connection. */
const idleMs = 20_000;

/** One call, from its connection to its end. */
class EgressCall implements Answered, UpstreamStream {
  readonly #listener: UpstreamListener;
  readonly #over: () => void;
  #connection: Connection | undefined;
  #state: 'open' | 'over' = 'open';

  constructor(listener: UpstreamListener, over: () => void) {
    this.#listener = listener;
    this.#over = over;
  }

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
export function createEgress(options: { readonly socketPath: string }): Egress {
  const inFlight = new Map<string, number>();
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
      inFlight.set(cluster, (inFlight.get(cluster) ?? 0) + 1);
      const started = new EgressCall(listener, () => {
        const left = (inFlight.get(cluster) ?? 1) - 1;
        if (left === 0) inFlight.delete(cluster);
        else inFlight.set(cluster, left);
      });
      const pieces = requestBytes(call);
      if (closed) started.failed('EGRESS_CLOSED');
      else if (pieces === undefined) started.failed('INVALID_REQUEST');
      else started.send(takeConnection(), pieces);
      return started;
    },
    inFlight: (cluster) => inFlight.get(cluster) ?? 0,
    close: () => {
      closed = true;
      clearInterval(sweep);
      for (const connection of open) connection.fail('EGRESS_CLOSED');
      if (open.size === 0) gone.resolve();
      return gone.promise;
    },
  };
}
