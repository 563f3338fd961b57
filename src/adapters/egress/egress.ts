import { type Dispatcher, Pool } from 'undici';
import type { Upstream, UpstreamCall, UpstreamListener, UpstreamStream } from '../../core/upstream.ts';

/** Envoy answers with it when it has no answer of an engine: its response flags, such as `UF` for a failed connection. */
const egressFailureHeader = 'x-weir-egress-failure';

/** Abort reason of an attempt we gave up. Given, so that no DOMException is built for each. */
const abandoned = new Error('attempt abandoned');

/** One call, from dispatch to its end. Implements undici's handler and our handle on it. */
class EgressCall implements Dispatcher.DispatchHandler, UpstreamStream {
  readonly #listener: UpstreamListener;
  readonly #over: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #state: 'open' | 'aborted' | 'over' = 'open';
  #paused = false;

  constructor(listener: UpstreamListener, over: () => void) {
    this.#listener = listener;
    this.#over = over;
  }

  abort(): void {
    if (this.#state !== 'open') return;
    this.#state = 'aborted';
    this.#over();
    this.#controller?.abort(abandoned);
  }

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state === 'aborted') controller.abort(abandoned);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#controller = controller;
    // 1xx: the answer proper is still to come.
    if (this.#state !== 'open' || status < 200) return;
    const failure = headers[egressFailureHeader];
    if (failure !== undefined) {
      this.abort();
      this.#listener.failed(`Envoy ${String(failure)}`);
      return;
    }
    this.#listener.head(status, (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : value?.[0];
    });
    if (this.#paused) controller.pause();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state === 'open') this.#listener.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#finish()) this.#listener.ended();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#finish()) this.#listener.failed('code' in error ? String(error.code) : error.name);
  }

  #finish(): boolean {
    if (this.#state !== 'open') return false;
    this.#state = 'over';
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
  const pool = new Pool('http://egress', {
    socketPath: options.socketPath,
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    // Below Envoy's own idle limit on this listener, so that we close first and never write into a closing connection.
    keepAliveTimeout: 20_000,
    keepAliveMaxTimeout: 20_000,
  });
  const inFlight = new Map<string, number>();
  return {
    call: ({ cluster, authority, path, authorization, body, accept }: UpstreamCall, listener) => {
      inFlight.set(cluster, (inFlight.get(cluster) ?? 0) + 1);
      const call = new EgressCall(listener, () => {
        const left = (inFlight.get(cluster) ?? 1) - 1;
        if (left === 0) inFlight.delete(cluster);
        else inFlight.set(cluster, left);
      });
      const headers = [
        'host',
        authority,
        'x-weir-cluster',
        cluster,
        'content-type',
        'application/json',
        'accept',
        accept,
        'user-agent',
        'weir',
      ];
      if (authorization !== undefined) headers.push('authorization', authorization);
      pool.dispatch({ method: 'POST', path, headers, body }, call);
      return call;
    },
    inFlight: (cluster) => inFlight.get(cluster) ?? 0,
    close: () => pool.destroy(),
  };
}
