import { isIP } from 'node:net';
import type { ConnectionLimits } from '../../envoy/config/connection-limits.ts';
import { StartRefusal } from './refusal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says about the edge, whoever starts Envoy. */
export interface EdgeSettings {
  /** The address it listens on. */
  readonly host: string;
  readonly trustedHops: number;
  /** Of all callers together. */
  readonly maxConnections: number;
  /** Of one caller; undefined where nobody is held to one. */
  readonly connections: ConnectionLimits | undefined;
}

/** More would not fit the memory that Envoy usually gets. */
const mostConnections = 20_000;

/** What Envoy has open besides: its threads, listeners and logs, health checks, and Prometheus. */
const descriptorsBesides = 256;

/** A connection of a caller, one of the service to the egress for its request, and one to the engine. */
const descriptorsPerConnection = 3;

/** A load test, or a team behind one address, keeps some thousand streams; eight such addresses would hold all. */
const connectionsPerAddress = 2_500;

/**
 * Reads the settings of the edge. Throws StartRefusal on a bad one.
 * Behind trusted proxies there are no limits for one caller: every peer is a proxy, which keeps connections for many callers.
 */
export function readEdgeSettings(
  env: Environment,
  options: { readonly defaultHost: string; readonly openFiles: number | undefined },
): EdgeSettings {
  const trustedHops = readCount(env, 'WEIR_TRUSTED_HOPS', 99) ?? 0;
  const perAddress = readCount(env, 'WEIR_CONNECTIONS_PER_ADDRESS', 1_000_000);
  const unauthenticatedIdleSeconds = readCount(env, 'WEIR_UNAUTHENTICATED_IDLE_SECONDS', 620) ?? 15;
  const maxConnections = connectionsWithin(options.openFiles);
  return {
    host: readHost(env, 'WEIR_EDGE_HOST') ?? options.defaultHost,
    trustedHops,
    maxConnections,
    connections:
      trustedHops > 0
        ? undefined
        : {
            // Two addresses must not hold all that there are.
            perAddress: perAddress ?? Math.min(connectionsPerAddress, Math.ceil(maxConnections / 3)),
            unauthenticatedIdleSeconds,
          },
  };
}

/** Connections for which Envoy has descriptors when each of them has a request. */
function connectionsWithin(openFiles: number | undefined): number {
  if (openFiles === undefined) return mostConnections;
  const fitting = Math.floor((openFiles - descriptorsBesides) / descriptorsPerConnection);
  if (fitting >= 1) return Math.min(mostConnections, fitting);
  throw new StartRefusal(
    `Envoy may have only ${openFiles} files open, which is too few for connections; raise \`ulimit -Hn\` above ${descriptorsBesides + 1_000}.`,
  );
}

function readHost(env: Environment, name: string): string | undefined {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  if (isIP(text) === 0)
    throw new StartRefusal(`${name}: expected an IP address, such as 127.0.0.1, 0.0.0.0 or ::, got "${text}".`);
  return text;
}

function readCount(env: Environment, name: string, most: number): number | undefined {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count <= most)) throw new StartRefusal(`${name}: expected a whole number from 0 to ${most}, got "${text}".`);
  return count;
}

/** How programs on this machine reach an edge that listens on the address. */
export function localAddressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (isIP(host) === 4) return host;
  return host === '::' ? '[::1]' : `[${host}]`;
}
