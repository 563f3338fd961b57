import { extension, typed } from './typed.ts';
import type { ConfigObject } from './typed.ts';

/** Limits of callers' connections. */
export interface ConnectionLimits {
  /** Open connections per address of a peer, a /64 of IPv6 counted as one; 0: any number. */
  readonly perAddress: number;
  /**
   * Longest time without a request for a connection that has had no authenticated request. 0: the time for all other
   * connections.
   */
  readonly unauthenticatedIdleSeconds: number;
}

const filter = 'weir.connections';

/** The compiled envoy/connections/module.ts, beside this file. `modulePath` is the copy that Envoy reads. */
export const connectionsModule = new URL('connections.wasm', import.meta.url);

/** Network filters that refuse connections above the limit, before TLS, and close idle ones without an authenticated request. */
export function connectionFilters(limits: ConnectionLimits | undefined, modulePath: string): readonly ConfigObject[] {
  if (limits === undefined || !isNeeded(limits)) return [];
  const configuration = `connections ${limits.perAddress} ${limits.unauthenticatedIdleSeconds}`;
  return [
    extension(filter, 'envoy.extensions.filters.network.wasm.v3.Wasm', { config: plugin(configuration, modulePath) }),
  ];
}

/** HTTP filters that report to the module which requests are under way and which were authenticated. They come before all others. */
export function requestFilters(limits: ConnectionLimits | undefined, modulePath: string): readonly ConfigObject[] {
  if (limits === undefined || limits.unauthenticatedIdleSeconds === 0) return [];
  return [extension(filter, 'envoy.extensions.filters.http.wasm.v3.Wasm', { config: plugin('requests', modulePath) })];
}

function isNeeded({ perAddress, unauthenticatedIdleSeconds }: ConnectionLimits): boolean {
  return perAddress > 0 || unauthenticatedIdleSeconds > 0;
}

/** All plugins with the same id and code share one virtual machine per worker thread. */
function plugin(configuration: string, modulePath: string): ConfigObject {
  return {
    name: filter,
    root_id: configuration.split(' ')[0] ?? '',
    vm_config: { vm_id: filter, runtime: 'envoy.wasm.runtime.v8', code: { local: { filename: modulePath } } },
    configuration: typed('google.protobuf.StringValue', { value: configuration }),
    // A module that fails must not stop the gateway.
    failure_policy: 'FAIL_OPEN',
  };
}
