import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import {
  authorityOf,
  type Endpoint,
  endpointName,
  type FoundEndpoints,
  type Scheme,
  type ServiceSource,
} from '../../core/endpoint.ts';

/** The stored part of an EndpointSlice (discovery.k8s.io/v1): some of the pods of one Service at one moment. */
export interface Slice {
  readonly name: string;
  readonly resourceVersion: string;
  /** Name of its Service; undefined: it belongs to none. */
  readonly service: string | undefined;
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

interface SlicePort {
  /** Name of the Service's port; empty if the Service has a single port without a name. */
  readonly name: string;
  readonly port: number;
}

interface SliceEndpoint {
  readonly address: string;
  /** `draining`: the pod is about to end and still answers. */
  readonly state: 'ready' | 'draining' | 'out';
  readonly zone: string | undefined;
}

/** The stored part of a Service. */
export interface Service {
  readonly resourceVersion: string;
  /** The host that an ExternalName stands for. */
  readonly externalName: string | undefined;
  /** Only TCP ports. A headless Service may have none. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

type Known<Item> = { readonly name: string; readonly item: Item };

const named = z.object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) });

/** The known item of an object, if it has this version. A list of all objects is long, and most of them are known. */
function knownVersion<Item extends { readonly resourceVersion: string }>(
  raw: unknown,
  known: ReadonlyMap<string, Item>,
): Known<Item> | undefined {
  const { name, resourceVersion } = named.parse(raw).metadata;
  const item = known.get(name);
  return item?.resourceVersion === resourceVersion ? { name, item } : undefined;
}

const rawSlice = z.object({
  metadata: z.object({
    name: z.string(),
    resourceVersion: z.string(),
    labels: z.record(z.string(), z.string()).nullish(),
  }),
  addressType: z.string(),
  ports: z
    .array(z.object({ name: z.string().nullish(), port: z.number().nullish(), protocol: z.string().nullish() }))
    .nullish(),
  endpoints: z
    .array(
      z.object({
        addresses: z.array(z.string()),
        conditions: z
          .object({ ready: z.boolean().nullish(), serving: z.boolean().nullish(), terminating: z.boolean().nullish() })
          .nullish(),
        zone: z.string().nullish(),
      }),
    )
    .nullish(),
});
type RawEndpoint = NonNullable<z.output<typeof rawSlice>['endpoints']>[number];

const isTcp = ({ protocol }: { readonly protocol?: string | null | undefined }): boolean =>
  (protocol ?? 'TCP') === 'TCP';

/** Reads an EndpointSlice. The result is the known one unless the object has another version. */
export function readSlice(raw: unknown, known: ReadonlyMap<string, Slice>): Known<Slice> {
  const before = knownVersion(raw, known);
  if (before !== undefined) return before;
  const { metadata, addressType, ports, endpoints } = rawSlice.parse(raw);
  const { name, resourceVersion, labels } = metadata;
  const item: Slice = {
    name,
    resourceVersion,
    service: labels?.['kubernetes.io/service-name'],
    addressType,
    ports: (ports ?? [])
      .filter(isTcp)
      .flatMap((port) => (port.port ? [{ name: port.name ?? '', port: port.port }] : [])),
    endpoints: (endpoints ?? []).flatMap(readEndpoint),
  };
  return { name, item };
}

/** The addresses of one endpoint all lead to the same pod, and Kubernetes itself uses the first one only. */
function readEndpoint({ addresses: [address], conditions, zone }: RawEndpoint): readonly SliceEndpoint[] {
  if (address === undefined || !ipaddr.isValid(address)) return [];
  // The API defines absent conditions: `ready` counts as true, `serving` as `ready`, `terminating` as false.
  const ready = conditions?.ready ?? true;
  const serving = conditions?.serving ?? ready;
  const state = conditions?.terminating === true ? (serving ? 'draining' : 'out') : ready ? 'ready' : 'out';
  // In the spelling that Envoy also uses.
  return [{ address: ipaddr.parse(address).toString(), state, zone: zone ?? undefined }];
}

const rawService = z.object({
  ...named.shape,
  spec: z.object({
    externalName: z.string().nullish(),
    type: z.string().nullish(),
    ports: z
      .array(z.object({ name: z.string().nullish(), port: z.number(), protocol: z.string().nullish() }))
      .nullish(),
  }),
});

/** Reads a Service. The result is the known one unless the object has another version. */
export function readService(raw: unknown, known: ReadonlyMap<string, Service>): Known<Service> {
  const before = knownVersion(raw, known);
  if (before !== undefined) return before;
  const { metadata, spec } = rawService.parse(raw);
  const { name, resourceVersion } = metadata;
  const item: Service = {
    resourceVersion,
    externalName: spec.type === 'ExternalName' ? (spec.externalName ?? '') : undefined,
    ports: (spec.ports ?? []).filter(isTcp).map((port) => ({ name: port.name ?? '', port: port.port })),
  };
  return { name, item };
}

interface ServiceFacts {
  readonly source: ServiceSource;
  readonly scheme: Scheme;
  readonly namespace: string;
  /** Undefined: there is no Service of that name, or Services cannot be read. */
  readonly service: Service | undefined;
  /** All slices of the Service. */
  readonly slices: readonly Slice[];
}

/**
 * Ready endpoints get new requests. If none is ready, the endpoints that are about to end and still answer get them, as
 * in kube-proxy. Each is there once, in the order of their names.
 */
export function servingEndpoints(
  inState: (state: 'ready' | 'draining') => readonly Endpoint[],
): FoundEndpoints['endpoints'] {
  const found = inState('ready');
  const serving = found.length > 0 ? found : inState('draining');
  return [...new Map(serving.map((one) => [one.name, one])).values()].sort(byNameOf);
}

/** The endpoints of a Service, from all its slices, each pod once. */
export function endpointsOf(facts: ServiceFacts): FoundEndpoints {
  const { source, namespace, scheme, service, slices } = facts;
  const portOf = portFinder(facts);
  // A pod has one address per family of its Service, but must be only one endpoint.
  const family = slices.some(({ addressType }) => addressType === 'IPv4') ? 'IPv4' : 'IPv6';
  const host = `${source.service}.${namespace}.svc`;
  const servicePort = service?.ports.find(({ name, port }) => source.port === name || source.port === port)?.port;
  const parts = slices.flatMap((slice) => {
    const port = slice.addressType === family ? portOf(slice) : undefined;
    if (port === undefined) return [];
    return [endpointsIn(slice, { port, authority: authorityOf({ host, port: servicePort ?? port }, scheme) })];
  });
  const endpoints = servingEndpoints((state) => parts.flatMap((part) => part[state]));
  return { endpoints, trouble: endpoints.length > 0 ? undefined : troubleOf(facts, portOf) };
}

const byNameOf = (a: Endpoint, b: Endpoint): number => (a.name < b.name ? -1 : 1);

interface SlicePart {
  readonly port: number;
  readonly authority: string;
  /** In the order of their names. */
  readonly ready: readonly Endpoint[];
  readonly draining: readonly Endpoint[];
}

/** In a large Service, changes come one slice at a time. The endpoints of the other slices stay the same objects. */
const parts = new WeakMap<Slice, SlicePart>();

function endpointsIn(slice: Slice, at: Pick<SlicePart, 'port' | 'authority'>): SlicePart {
  const before = parts.get(slice);
  if (before !== undefined && before.port === at.port && before.authority === at.authority) return before;
  const inState = (wanted: SliceEndpoint['state']): readonly Endpoint[] =>
    slice.endpoints
      .flatMap(({ address, state, zone }) =>
        state === wanted ? [{ ...at, name: endpointName(address, at.port), address, zone }] : [],
      )
      .sort(byNameOf);
  const part = { ...at, ready: inState('ready'), draining: inState('draining') };
  parts.set(slice, part);
  return part;
}

type PortFinder = (slice: Pick<Slice, 'ports'>) => number | undefined;

/**
 * Where the pods of a slice listen. A slice has the names of the Service's ports and the port numbers of the pods, so
 * the number of a Service's port must be looked up in the Service.
 */
function portFinder({ source: { port }, service }: ServiceFacts): PortFinder {
  if (typeof port === 'string') return (slice) => slice.ports.find(({ name }) => name === port)?.port;
  // A headless Service without ports leads to any port of its pods.
  if (service?.ports.length === 0) return () => port;
  const own = service?.ports.find((one) => one.port === port);
  return (slice) => (own === undefined ? undefined : slice.ports.find(({ name }) => name === own.name)?.port);
}

/** Why a Service has no endpoint. The sentence begins with the field at fault. */
function troubleOf({ source, service, slices }: ServiceFacts, portOf: PortFinder): string {
  const named = `"${source.service}"`;
  if (service?.externalName !== undefined) {
    return `spec.service.name: Service ${named} is an ExternalName, which has no pods; write its host "${service.externalName}" in endpoint.host`;
  }
  if (service === undefined && slices.length === 0) return `spec.service.name: there is no Service ${named}`;
  const isKnown = service?.ports.some(({ name, port }) => source.port === name || source.port === port);
  if (service !== undefined && service.ports.length > 0 && isKnown !== true) {
    return `spec.service.port: Service ${named} has no TCP port ${source.port}; it has ${service.ports.map(portText).join(', ')}`;
  }
  if (slices.length === 0) return `spec.service: Service ${named} has no EndpointSlice yet`;
  const byHost = slices.find(({ addressType }) => addressType === 'FQDN');
  if (byHost !== undefined) {
    return `spec.service: EndpointSlice "${byHost.name}" has host names, which are not followed; write them in endpoints`;
  }
  if (slices.every((slice) => portOf(slice) === undefined) && slices.some(({ endpoints }) => endpoints.length > 0)) {
    return `spec.service.port: no EndpointSlice of Service ${named} has port ${source.port}`;
  }
  const pods = slices.reduce((count, { endpoints }) => count + endpoints.length, 0);
  return `spec.service: no pod of Service ${named} is ready${pods === 0 ? '; it has no pods' : ''}`;
}

function portText({ name, port }: Service['ports'][number]): string {
  return name === '' ? String(port) : `${port} (${name})`;
}
