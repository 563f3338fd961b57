import { extension, typed } from './typed.ts';
import type { JsonObject } from './typed.ts';

/** What connections of callers may do. */
export interface ConnectionLimits {
  /** Open connections per address of a peer, a /64 of IPv6 counted as one; 0: any number. */
  readonly perAddress: number;
  /** Longest time without a request for a connection of which none was authenticated yet; 0: as for all others. */
  readonly unauthenticatedIdleSeconds: number;
}

const filter = 'weir.connections';

/** Where the module (envoy/connections/module.ts, compiled) lies beside this file. `modulePath` is where Envoy reads it. */
export const connectionsModule = new URL('connections.wasm', import.meta.url);

/** Refuses connections above the limit, before TLS, and closes those of strangers that are idle. Comes before HTTP. */
export function connectionFilters(limits: ConnectionLimits | undefined, modulePath: string): readonly JsonObject[] {
  if (limits === undefined || !isNeeded(limits)) return [];
  const configuration = `connections ${limits.perAddress} ${limits.unauthenticatedIdleSeconds}`;
  return [
    extension(filter, 'envoy.extensions.filters.network.wasm.v3.Wasm', { config: plugin(configuration, modulePath) }),
  ];
}

/** Sees which requests are being served and which were authenticated. Comes before all other filters of HTTP. */
export function requestFilters(limits: ConnectionLimits | undefined, modulePath: string): readonly JsonObject[] {
  if (limits === undefined || limits.unauthenticatedIdleSeconds === 0) return [];
  return [extension(filter, 'envoy.extensions.filters.http.wasm.v3.Wasm', { config: plugin('requests', modulePath) })];
}

function isNeeded({ perAddress, unauthenticatedIdleSeconds }: ConnectionLimits): boolean {
  return perAddress > 0 || unauthenticatedIdleSeconds > 0;
}

/** All parts of the same virtual machine, which is what its id and code say; each worker thread has one. */
function plugin(configuration: string, modulePath: string): JsonObject {
  return {
    name: filter,
    root_id: configuration.split(' ')[0] ?? '',
    vm_config: { vm_id: filter, runtime: 'envoy.wasm.runtime.v8', code: { local: { filename: modulePath } } },
    configuration: typed('google.protobuf.StringValue', { value: configuration }),
    // A limit that fails must not take the gateway with it.
    failure_policy: 'FAIL_OPEN',
  };
}
