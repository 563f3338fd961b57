import { Pool } from 'undici';
import type { AtTurnEnd } from '../../core/clock.ts';
import type { Upstream, UpstreamCall } from '../core/upstream.ts';
import { ByNumber } from '../../core/by-number.ts';
import { EgressCall, endpointHeader } from './egress-call.ts';

/** Lower than Envoy's own idle limit on this listener, so that we close first and never write into a closing connection. */
const idleMs = 20_000;

/** Envoy refuses an engine's head over 60 KiB, but counts its bytes in another way. */
const maxHeadBytes = 128 * 1024;

/** Counts the calls to a backend that wait for a connection, and the calls that have one. Undefined when unknown. */
type CountUpstream = (backend: string) => Promise<{ readonly active: number; readonly pending: number } | undefined>;

export interface Egress extends Upstream {
  readonly close: () => Promise<void>;
}

/**
 * Calls engines through Envoy's egress listener. Envoy owns TLS, pools, health and circuit breaking; the header
 * `x-weir-cluster` names the cluster. No timeout is set here: dispatch knows when an attempt is too quiet.
 */
export function createEgress(options: {
  readonly socketPath: string;
  /** Absent: it is never known whether a call has reached its engine. */
  readonly countUpstream?: CountUpstream;
  /** Listeners are notified at the end of the turn of the event loop that brought a part of their answer. */
  readonly atTurnEnd: AtTurnEnd;
}): Egress {
  const { atTurnEnd } = options;
  /** Calls under way, by cluster and endpoint, then by number in the order of their start. */
  const inFlight = new Map<string, ByNumber<EgressCall>>();
  let made = 0;
  // Each call has a connection of its own, and there is no limit to how many there are at once. An origin is needed
  // only in name: each call sends its own host.
  const pool = new Pool('http://egress', {
    socketPath: options.socketPath,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: maxHeadBytes,
    connectTimeout: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
  });

  /**
   * Whether Envoy has sent a call to its engine. Envoy does not report single calls, only how many calls of the backend
   * wait for a connection. Each endpoint gives connections in the order of the calls, so the waiting calls are the
   * latest ones. If at least as many later calls were made to the endpoint as calls wait, this call does not wait.
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

  return {
    call: (call: UpstreamCall, listener) => {
      const { backend, body, cluster, endpoint = '', method = 'POST', path } = call;
      const place = `${cluster} ${endpoint}`;
      const calls = inFlight.get(place) ?? new ByNumber();
      const number = (made += 1);
      inFlight.set(place, calls);
      const started = new EgressCall(listener, {
        over: () => {
          calls.delete(number);
          if (calls.size === 0) inFlight.delete(place);
        },
        // Not `call.backend`: the function would keep the call, with its body, until the answer ends.
        reached: () => hasReached(started, { calls, backend }),
        atTurnEnd,
      });
      calls.set(number, started);
      pool.dispatch(
        { path, method, headers: requestHeaders(call), body: method === 'GET' ? null : inOwnMemory(body) },
        started,
      );
      return started;
    },
    inFlight: (cluster) => {
      const places = [...inFlight].filter(([place]) => place.startsWith(`${cluster} `));
      return places.reduce((sum, [, calls]) => sum + calls.size, 0);
    },
    close: () => pool.destroy(Object.assign(new Error('egress is closed'), { code: 'EGRESS_CLOSED' })),
  };
}

const encoder = new TextEncoder();

/**
 * Returns the bytes of a body. undici keeps a body until the answer ends. It would put a text into Node's pool of
 * buffers: one short body would keep 64 KiB of the pool, which others have long left.
 */
const inOwnMemory = (body: UpstreamCall['body']): UpstreamCall['body'] =>
  typeof body === 'string' ? encoder.encode(body) : body;

/** Names and values in turn. The call fails if a head cannot contain a value. */
function requestHeaders(call: UpstreamCall): string[] {
  const { authority, cluster, endpoint, accept, affinity, traceparent, headers = [] } = call;
  const list = ['host', authority, 'x-weir-cluster', cluster, 'accept', accept, 'accept-encoding', 'identity'];
  if (!headers.some(([name]) => name.toLowerCase() === 'user-agent')) list.push('user-agent', 'weir');
  if (call.method !== 'GET') list.push('content-type', call.contentType ?? 'application/json');
  if (endpoint !== undefined) list.push(endpointHeader, Buffer.from(endpoint).toString('base64'));
  if (affinity !== undefined) list.push('x-weir-affinity', affinity);
  if (traceparent !== undefined) list.push('traceparent', traceparent);
  for (const [name, value] of headers) list.push(name, value);
  return list;
}
