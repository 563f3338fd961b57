import ipaddr from 'ipaddr.js';
import { hostInUrl } from './address.ts';

/** One address at which the engine of a backend listens, usually the address of one pod. */
export interface Endpoint {
  /** `address:port` as Envoy writes it, an IPv6 address in brackets. Unique within its backend. */
  readonly name: string;
  /** IPv4 or IPv6, without brackets. */
  readonly address: string;
  readonly port: number;
  /** Value of the Host header. */
  readonly authority: string;
  /** The Kubernetes zone of the endpoint's node, if it is known. */
  readonly zone: string | undefined;
}

/** The current endpoints of clusters. Endpoints come and go while their cluster and the snapshot stay. */
export interface Endpoints {
  /**
   * The endpoints of a cluster that accept new requests; empty if the cluster is unknown or has none. Returns the same
   * array until the endpoints change.
   */
  readonly of: (cluster: string) => readonly Endpoint[];
}

/** A host name or an IP address without brackets, in lowercase and without a final dot, and a TCP port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** How the endpoints of a cluster are found. */
export type EndpointSource = HostsSource | PodsSource;

/** The endpoints are all addresses of some hosts. */
export interface HostsSource {
  readonly kind: 'hosts';
  readonly hosts: readonly HostPort[];
}

/** The endpoints are pods in the gateway's own namespace of Kubernetes. */
export type PodsSource = ServiceSource | InferencePoolSource;

/** The endpoints are the pods behind a Service. */
export interface ServiceSource {
  readonly kind: 'service';
  readonly service: string;
  /** One of the Service's own ports, by number or by name. */
  readonly port: number | string;
}

/** The endpoints are the pods that an InferencePool selects, at its target ports. */
export interface InferencePoolSource {
  readonly kind: 'inference-pool';
  readonly pool: string;
}

/** The known endpoints of a source at one moment. */
export interface FoundEndpoints {
  /** The endpoints that may get new requests, without duplicates, sorted by name. */
  readonly endpoints: readonly Endpoint[];
  /** Why there are no endpoints, beginning with the field at fault. Undefined if there are some. */
  readonly trouble: string | undefined;
}

export type Scheme = 'http' | 'https';

/**
 * Follows the endpoints of a source. `onFound` is called once they are known and whenever they have changed, also
 * before this function returns. A search that fails is repeated, and the endpoints found before are kept meanwhile.
 * Call the returned function to stop.
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

/**
 * Whether two lists name the same endpoints, in the same order and with the same fields. Long lists mostly share their
 * objects, so these are compared first.
 */
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

/** Reads `address:port`, an IPv6 address in brackets. Undefined: the text is none. */
export function readAddressPort(text: string): HostPort | undefined {
  const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const host = v6 ?? v4 ?? '';
  const isKnown = v6 === undefined ? ipaddr.IPv4.isValidFourPartDecimal(host) : ipaddr.IPv6.isValid(host);
  return isKnown && port >= 1 && port <= 65_535 ? { host: ipaddr.parse(host).toString(), port } : undefined;
}

/** Whether a host is an IP address, so that no resolver is needed. */
export function isAddress(host: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || host.includes(':');
}
