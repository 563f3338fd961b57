import { isObject } from '../../../src/core/json.ts';

/** A request to the API server, as it arrives. `path`: without the query. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
}

type Fields = Readonly<Record<string, unknown>>;

interface Metadata extends Fields {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ApiObject extends Fields {
  readonly metadata: Metadata;
}

interface Change {
  readonly version: number;
  readonly collection: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

/**
 * A model of a Kubernetes API server: objects with versions, lists, watches, merge patches, the status subresource,
 * finalizers. `recordings/api-server.jsonl` has the answers of a real one, which this one is compared with.
 */
export interface ApiServer {
  /** Carries a request out at once. */
  readonly answer: (request: ApiRequest) => ApiAnswer;
  /** Sends the events since the query's `resourceVersion`, and all later ones. Returns a function that ends it. */
  readonly watch: (request: ApiRequest, send: (line: string) => void) => () => void;
  /** Sends a bookmark to a watch: the newest version. */
  readonly bookmark: (request: ApiRequest) => string;
  /** From now on, no watch can begin at an older version. */
  readonly forget: () => void;
  readonly list: (plural: string) => readonly ApiObject[];
  readonly find: (plural: string, name: string) => ApiObject | undefined;
}

interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  /** A kind of ours: with a status subresource. */
  readonly isCustom?: true;
}

const weir = { apiVersion: 'weir.dev/v1alpha1', isCustom: true } as const;
const kinds: Readonly<Record<string, Kind>> = {
  models: { kind: 'Model', ...weir },
  backends: { kind: 'Backend', ...weir },
  leases: { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1' },
  endpointslices: { kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1' },
  services: { kind: 'Service', apiVersion: 'v1' },
  configmaps: { kind: 'ConfigMap', apiVersion: 'v1' },
  events: { kind: 'Event', apiVersion: 'events.k8s.io/v1' },
};

interface Place {
  readonly collection: string;
  readonly plural: string;
  readonly name: string | undefined;
  readonly isStatus: boolean;
  readonly kind: Kind;
}

function placeIn(path: string): Place | undefined {
  const found = /^(\/.+\/namespaces\/[^/]+\/([^/]+))(?:\/([^/]+)(\/status)?)?$/.exec(path);
  const [, collection = '', plural = '', name, status] = found ?? [];
  const kind = kinds[plural];
  return kind === undefined ? undefined : { collection, plural, name, isStatus: status !== undefined, kind };
}

/** `now`: of the server's own clock. */
export function createApiServer(now: () => number): ApiServer {
  const collections = new Map<string, Map<string, ApiObject>>();
  const watchers = new Set<(change: Change) => void>();
  let history: Change[] = [];
  let version = 1000;
  let oldest = 0;
  let made = 0;

  const objectsOf = (collection: string): Map<string, ApiObject> => {
    const known = collections.get(collection) ?? new Map<string, ApiObject>();
    collections.set(collection, known);
    return known;
  };
  const instant = (): string => new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z');

  function store({ collection }: Place, type: Change['type'], object: ApiObject): ApiObject {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    if (type === 'DELETED') objectsOf(collection).delete(stored.metadata.name);
    else objectsOf(collection).set(stored.metadata.name, stored);
    const change = { version, collection, type, object: stored };
    history.push(change);
    for (const tell of watchers) tell(change);
    return stored;
  }

  function create(place: Place, body: Fields): ApiAnswer {
    const given = isObject(body['metadata']) ? body['metadata'] : {};
    const name = String(given['name']);
    if (objectsOf(place.collection).has(name)) return refusal(409, 'AlreadyExists', place, name);
    made += 1;
    const { status, ...rest } = body;
    const { kind, apiVersion, isCustom } = place.kind;
    const metadata = {
      ...given,
      ...{ name, uid: `uid-${made}`, resourceVersion: '', creationTimestamp: instant() },
      ...(isCustom === true || place.plural === 'endpointslices' ? { generation: 1 } : {}),
    };
    const object = { apiVersion, kind, ...rest, ...(isCustom || !status ? {} : { status }), metadata };
    return { status: 201, body: store(place, 'ADDED', object) };
  }

  /** Puts a new state in place of an object's old one. */
  function update(place: Place, before: ApiObject, wanted: Fields): ApiAnswer {
    const given: Fields = isObject(wanted['metadata']) ? wanted['metadata'] : {};
    const { uid, resourceVersion } = given;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      return refusal(409, 'Conflict', place, before.metadata.name);
    // With the status, everything else is ignored, the uid included.
    if (!place.isStatus && uid !== undefined && uid !== before.metadata.uid)
      return refusal(422, 'Invalid', place, before.metadata.name);
    const kept = ['name', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'generation'];
    const fixed = Object.fromEntries(Object.entries(before.metadata).filter(([key]) => kept.includes(key)));
    const metadata = { ...given, ...fixed } as Metadata;
    const after = stateAfter(place, before, { ...wanted, metadata });
    if (same(before, after)) return { status: 200, body: before };
    const isOver = metadata.deletionTimestamp !== undefined && (after.metadata.finalizers ?? []).length === 0;
    if (!isOver) return { status: 200, body: store(place, 'MODIFIED', after) };
    // The object is deleted as it was, and the answer shows it without the last finalizer.
    store(place, 'DELETED', before);
    return { status: 200, body: withoutFinalizers(after) };
  }

  function remove(place: Place, before: ApiObject): ApiAnswer {
    const { finalizers = [], deletionTimestamp, generation = 0, name } = before.metadata;
    if (finalizers.length === 0) {
      store(place, 'DELETED', before);
      return { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success', details: { name } } };
    }
    if (deletionTimestamp !== undefined) return { status: 200, body: before };
    const metadata = { ...before.metadata, deletionTimestamp: instant(), generation: generation + 1 };
    return { status: 200, body: store(place, 'MODIFIED', { ...before, metadata }) };
  }

  function listOf({ collection, kind }: Place, query: URLSearchParams): ApiAnswer {
    const items = [...objectsOf(collection).values()]
      .filter((object) => isSelected(object, query))
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const { apiVersion } = kind;
    const metadata = { resourceVersion: String(version) };
    return { status: 200, body: { kind: `${kind.kind}List`, apiVersion, metadata, items } };
  }

  return {
    answer: ({ method, path, query, body }) => {
      const place = placeIn(path);
      if (place === undefined) throw new Error(`the simulated API server does not know ${path}`);
      const { collection, name } = place;
      if (method === 'POST') return create(place, fieldsOf(body));
      if (name === undefined) return listOf(place, query);
      const before = objectsOf(collection).get(name);
      if (before === undefined) return refusal(404, 'NotFound', place, name);
      switch (method) {
        case 'GET':
          return { status: 200, body: before };
        case 'PUT':
          return update(place, before, fieldsOf(body));
        case 'PATCH':
          return update(place, before, patched(withoutVersion(before), fieldsOf(body)));
        case 'DELETE':
          return remove(place, before);
        default:
          throw new Error(`the simulated API server does not know ${method}`);
      }
    },
    watch: ({ path, query }, send) => {
      const place = placeIn(path);
      const from = Number(query.get('resourceVersion'));
      if (from < oldest) {
        const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
        const message = `too old resource version: ${from} (${oldest})`;
        send(lineOf('ERROR', { ...status, message, reason: 'Expired', code: 410 }));
        return () => undefined;
      }
      const tell = ({ collection, type, object }: Change): void => {
        if (collection === place?.collection && isSelected(object, query)) send(lineOf(type, object));
      };
      for (const change of history) if (change.version > from) tell(change);
      watchers.add(tell);
      return () => void watchers.delete(tell);
    },
    bookmark: ({ path }) => {
      const { kind, apiVersion } = placeIn(path)?.kind ?? {};
      return lineOf('BOOKMARK', { kind, apiVersion, metadata: { resourceVersion: String(version) } });
    },
    forget: () => {
      oldest = version;
      history = [];
    },
    list: (plural) =>
      [...collections].flatMap(([at, objects]) => (at.endsWith(`/${plural}`) ? [...objects.values()] : [])),
    find: (plural, name) => [...collections].find(([at]) => at.endsWith(`/${plural}`))?.[1].get(name),
  };
}

const fieldsOf = (body: unknown): Fields => (isObject(body) ? body : {});
const lineOf = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

function withoutFinalizers({ metadata: { finalizers: _, ...metadata }, ...rest }: ApiObject): ApiObject {
  return { ...rest, metadata };
}

/** A write may name the version that it expects. The object's own one is not such a wish. */
function withoutVersion({ metadata: { resourceVersion: _, uid: __, ...metadata }, ...rest }: ApiObject): Fields {
  return { ...rest, metadata };
}

/** The status of our kinds changes only through its subresource, and nothing else does there. */
function stateAfter({ kind, plural, isStatus }: Place, before: ApiObject, wanted: Fields & ApiObject): ApiObject {
  const { generation = 0 } = before.metadata;
  if (plural === 'endpointslices')
    return same(wanted, before) ? before : { ...wanted, metadata: { ...wanted.metadata, generation: generation + 1 } };
  if (kind.isCustom !== true) return wanted;
  if (isStatus) return { ...before, ...(wanted['status'] === undefined ? {} : { status: wanted['status'] }) };
  const { status: _, ...rest } = wanted;
  const isNew = !same(rest['spec'], before['spec']);
  const metadata = { ...wanted.metadata, generation: isNew ? generation + 1 : generation };
  return { ...rest, ...(before['status'] === undefined ? {} : { status: before['status'] }), metadata };
}

/** RFC 7386. */
function patched(before: Fields, patch: Fields): Fields {
  const after: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else after[key] = isObject(value) ? patched(fieldsOf(after[key]), value) : value;
  }
  return after;
}

function isSelected({ metadata }: ApiObject, query: URLSearchParams): boolean {
  const [, name] = /^metadata\.name=(.+)$/.exec(query.get('fieldSelector') ?? '') ?? [];
  const [, label = '', value] = /^([^=]+)=(.+)$/.exec(query.get('labelSelector') ?? '') ?? [];
  return (name === undefined || name === metadata.name) && (value === undefined || metadata.labels?.[label] === value);
}

function refusal(code: number, reason: string, { plural }: Place, name: string): ApiAnswer {
  const message = `${plural} "${name}": ${reason}`;
  return {
    status: code,
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code },
  };
}

/** Whether two values are the same as JSON, whatever the order of their fields. */
function same(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return JSON.stringify(a) === JSON.stringify(b);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => same(a[key], b[key]));
}
