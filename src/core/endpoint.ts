import { hostInUrl } from './address.ts';

/** One address at which the engine of a backend listens: of one pod, as a rule. */
export interface Endpoint {
  /** `address:port` as Envoy writes it, an IPv6 address in brackets. Unique within its backend. */
  readonly name: string;
  /** IPv4 or IPv6, without brackets. */
  readonly address: string;
  readonly port: number;
  /** Value of the Host header. */
  readonly authority: string;
  /** Kubernetes' zone of the node that it runs on, where that is known. */
  readonly zone: string | undefined;
}

/** The endpoints of clusters, as they are now. They come and go while their cluster and the snapshot stay. */
export interface Endpoints {
  /**
   * Those of a cluster that accept new requests; empty if the cluster is unknown or has none. The same array as long as
   * it does not change.
   */
  readonly of: (cluster: string) => readonly Endpoint[];
}

/** A host name or an IP address without brackets, in lowercase and without a final dot, and a TCP port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** How the endpoints of a cluster are found. */
export type EndpointSource = HostsSource | ServiceSource;

/** Every address that the hosts have. */
export interface HostsSource {
  readonly kind: 'hosts';
  readonly hosts: readonly HostPort[];
}

/** The pods behind a Service of the gateway's own namespace in Kubernetes. */
export interface ServiceSource {
  readonly kind: 'service';
  readonly service: string;
  /** One of the Service's own ports, by number or by name. */
  readonly port: number | string;
}

/** What is known of the endpoints of a source at one moment. */
export interface FoundEndpoints {
  /** Those that may take new requests, each once, in the order of their names. */
  readonly endpoints: readonly Endpoint[];
  /** Why there are none, beginning with the field at fault; undefined where there are some. */
  readonly trouble: string | undefined;
}

export type Scheme = 'http' | 'https';

/**
 * Follows the endpoints of a source. `onFound` is called once they are known and whenever they have changed, also before
 * this function returns. What cannot be found out now is looked for again, and what was found last is kept meanwhile. The result
 * ends it.
 */
export type FollowEndpoints<Source = EndpointSource> = (
  source: Source,
  options: {
    /** Which port an endpoint's `authority` leaves out. */
    readonly scheme: Scheme;
    readonly onFound: (found: FoundEndpoints) => void;
  },
) => () => void;

/** RFC 9110 §7.2: the port is left out when it is the scheme's own. An IPv6 address stands in brackets. */
export function authorityOf({ host, port }: HostPort, scheme: Scheme): string {
  return port === (scheme === 'http' ? 80 : 443) ? hostInUrl(host) : `${hostInUrl(host)}:${port}`;
}

/** Whether two lists name the same endpoints, in the same order and in every field. Lists of thousands mostly hold the same objects. */
export function isSameEndpoints(a: readonly Endpoint[], b: readonly Endpoint[]): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every((endpoint, at) => endpoint === b[at] || isSameEndpoint(endpoint, b[at]));
}

function isSameEndpoint(a: Endpoint, b: Endpoint | undefined): boolean {
  return a.name === b?.name && a.authority === b.authority && a.zone === b.zone;
}

/** `address:port`, an IPv6 address in brackets: the name of an endpoint. */
export function endpointName(address: string, port: number): string {
  return `${hostInUrl(address)}:${port}`;
}

/** Whether a host is an IP address, which no resolver has to be asked for. */
export function isAddress(host: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || host.includes(':');
}
