// Runs inside Envoy as a Wasm module (proxy-wasm ABI 0.2.1) and is written in AssemblyScript; `npm run generate` compiles it
// to src/control/envoy/config/connections.wasm. docs/decisions/0025-connections-are-counted-inside-envoy.md says why it exists.
//
// Each worker thread of Envoy has an instance of its own: a connection lives and dies on one of them. Only the counts per
// address are common to all workers, in Envoy's shared data.

// ── What Envoy offers ────────────────────────────────────────────────────────────────────────────────────────────────
@external("env", "proxy_get_property")
declare function getProperty(path: usize, pathSize: usize, data: usize, size: usize): u32;
@external("env", "proxy_get_buffer_bytes")
declare function getBuffer(type: u32, start: u32, length: u32, data: usize, size: usize): u32;
@external("env", "proxy_get_shared_data")
declare function getShared(key: usize, keySize: usize, data: usize, size: usize, version: usize): u32;
@external("env", "proxy_set_shared_data")
declare function setShared(key: usize, keySize: usize, data: usize, size: usize, version: u32): u32;
@external("env", "proxy_get_current_time_nanoseconds")
declare function getTime(nanoseconds: usize): u32;
@external("env", "proxy_set_tick_period_milliseconds")
declare function setTickPeriod(milliseconds: u32): u32;
@external("env", "proxy_set_effective_context")
declare function setEffectiveContext(context: u32): u32;
@external("env", "proxy_close_stream")
declare function closeStream(type: u32): u32;
@external("env", "proxy_define_metric")
declare function defineMetric(type: u32, name: usize, nameSize: usize, id: usize): u32;
@external("env", "proxy_increment_metric")
declare function incrementMetric(id: u32, offset: i64): u32;

const ok: u32 = 0;
const casMismatch: u32 = 8;
const downstream: u32 = 2;
const pluginConfiguration: u32 = 7;
const counter: u32 = 0;
const goOn: u32 = 0;
const wait: u32 = 1;

/** Envoy puts what it returns into memory that it takes here; `takeResult` gives it back. */
export function proxy_on_memory_allocate(size: usize): usize {
  return heap.alloc(size);
}

export function proxy_abi_version_0_2_1(): void {}

// Envoy writes results here. Static, so that no call makes garbage.
const dataAt = memory.data(8);
const sizeAt = memory.data(8);
const versionAt = memory.data(8);
const keyAt = memory.data(8);
const valueAt = memory.data(8);

function takeResult(): ArrayBuffer {
  const data = load<u32>(dataAt);
  const size = load<u32>(sizeAt);
  const copy = new ArrayBuffer(size);
  memory.copy(changetype<usize>(copy), data, size);
  if (data != 0) heap.free(data);
  return copy;
}

/** A number that Envoy knows of the connection or request at hand; 0 where there is none. */
function numberProperty(path: ArrayBuffer): u64 {
  if (getProperty(changetype<usize>(path), path.byteLength, dataAt, sizeAt) != ok) return 0;
  const data = load<u32>(dataAt);
  const number: u64 = load<u32>(sizeAt) == 8 ? load<u64>(data) : 0;
  if (data != 0) heap.free(data);
  return number;
}

function textProperty(path: ArrayBuffer): string {
  if (getProperty(changetype<usize>(path), path.byteLength, dataAt, sizeAt) != ok) return '';
  return String.UTF8.decode(takeResult());
}

// Paths of properties: their parts, each but the last closed by a zero.
const sourceAddress = String.UTF8.encode('source\0address');
const connectionId = String.UTF8.encode('connection_id');
const requestMethod = String.UTF8.encode('request\0method');
const responseCode = String.UTF8.encode('response\0code');

function metric(name: string): u32 {
  const bytes = String.UTF8.encode(name);
  return defineMetric(counter, changetype<usize>(bytes), bytes.byteLength, valueAt) == ok ? load<u32>(valueAt) : 0;
}

// ── What it is told ──────────────────────────────────────────────────────────────────────────────────────────────────
/** The root contexts of the two filters: of connections and, behind it, of their requests. */
let connectionsRoot: u32 = 0;
let requestsRoot: u32 = 0;

/** Open connections per address; 0: any number. */
let perAddress: u32 = 0;
/** Seconds without a request that a connection has until a request of it was authenticated; 0: as Envoy has it. */
let idleSeconds: u32 = 0;
let seed: u64 = 0;
let refused: u32 = 0;
let closedIdle: u32 = 0;

export function proxy_on_vm_start(_context: u32, _size: u32): u32 {
  return 1;
}

/** The configuration is `connections PER_ADDRESS IDLE_SECONDS`, or `requests`. */
export function proxy_on_configure(context: u32, size: u32): u32 {
  if (getBuffer(pluginConfiguration, 0, size, dataAt, sizeAt) != ok) return 0;
  const words = String.UTF8.decode(takeResult()).split(' ');
  if (words[0] == 'requests') requestsRoot = context;
  if (words[0] != 'connections') return 1;
  connectionsRoot = context;
  perAddress = <u32>parseInt(words[1]);
  idleSeconds = <u32>parseInt(words[2]);
  seed = commonSeed();
  refused = metric('weir_connections_refused');
  closedIdle = metric('weir_connections_closed_idle');
  if (idleSeconds > 0) setTickPeriod(1000);
  return 1;
}

// ── Counts per address, common to all workers ────────────────────────────────────────────────────────────────────────
/**
 * Addresses are counted in so many buckets, so that a network that comes with ever new addresses fills no memory. Which
 * addresses share one differs from start to start, so that nobody can choose to share another caller's.
 */
const buckets: u64 = 65536;

/** The instance that is configured first, before any worker has one, chooses it. */
function commonSeed(): u64 {
  const key = String.UTF8.encode('seed');
  const at = changetype<usize>(key);
  if (getShared(at, key.byteLength, dataAt, sizeAt, versionAt) == ok) {
    return load<u64>(changetype<usize>(takeResult()));
  }
  getTime(valueAt);
  setShared(at, key.byteLength, valueAt, 8, 0);
  return load<u64>(valueAt);
}

/** The finalizer of SplitMix64, twice. */
function bucketOf(address: u64): u32 {
  let hash = address ^ seed;
  for (let round = 0; round < 2; round++) {
    hash += seed | 1;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return <u32>(hash % buckets);
}

/** Adds to the count of a bucket. False, and nothing is added, where it would pass the limit. */
function addTo(bucket: u32, change: i32): bool {
  store<u32>(keyAt, bucket);
  let isDone = false;
  while (!isDone) {
    let count: i32 = 0;
    let version: u32 = 0;
    if (getShared(keyAt, 4, dataAt, sizeAt, versionAt) == ok) {
      const data = load<u32>(dataAt);
      if (load<u32>(sizeAt) == 4) count = load<i32>(data);
      if (data != 0) heap.free(data);
      version = load<u32>(versionAt);
    }
    if (change > 0 && <u32>count >= perAddress) return false;
    store<i32>(valueAt, max<i32>(0, count + change));
    // Another worker was faster: look again.
    isDone = setShared(keyAt, 4, valueAt, 4, version) != casMismatch;
  }
  return true;
}

/** `192.0.2.1:443` by its 32 bits; `[2001:db8::1]:443` by its upper 64, because one subscriber holds a /64. */
function addressNumber(peer: string): u64 {
  if (!peer.startsWith('[')) return ipv4Number(peer.slice(0, peer.lastIndexOf(':')));
  const address = peer.slice(1, peer.lastIndexOf(']'));
  // An IPv4 peer of a listener for both.
  if (address.includes('.')) return ipv4Number(address.slice(address.lastIndexOf(':') + 1));
  const halves = address.split('::');
  const head = groupsOf(halves[0]);
  const tail = groupsOf(halves.length < 2 ? '' : halves[1]);
  const zeros = 8 - head.length - tail.length;
  let number: u64 = 0;
  for (let group = 0; group < 4; group++) {
    let text = '0';
    if (group < head.length) text = head[group];
    else if (group >= head.length + zeros) text = tail[group - head.length - zeros];
    number = (number << 16) | <u64>parseInt(text, 16);
  }
  return number;
}

function groupsOf(text: string): string[] {
  return text.length == 0 ? new Array<string>() : text.split(':');
}

function ipv4Number(text: string): u64 {
  const bytes = text.split('.');
  let number: u64 = 0;
  for (let index = 0; index < bytes.length; index++) number = (number << 8) | <u64>parseInt(bytes[index]);
  return number;
}

// ── Connections of this worker ───────────────────────────────────────────────────────────────────────────────────────
class Connection {
  bucket: u32 = 0;
  id: u64 = 0;
  /** Requests that are being served. */
  requests: u32 = 0;
  /** The second in which it was opened or its last request ended. */
  idleSince: u32 = 0;
}

/** All of them, by their context. */
const open = new Map<u32, Connection>();
/** Those of which no request was authenticated yet: by Envoy's id of the connection, the context. */
const unauthenticated = new Map<u64, u32>();
/** Seconds since the start, by the ticks. */
let now: u32 = 0;

export function proxy_on_new_connection(context: u32): u32 {
  const connection = new Connection();
  if (perAddress > 0) {
    connection.bucket = bucketOf(addressNumber(textProperty(sourceAddress)));
    if (!addTo(connection.bucket, 1)) {
      incrementMetric(refused, 1);
      closeStream(downstream);
      return wait;
    }
  }
  connection.id = numberProperty(connectionId);
  connection.idleSince = now;
  open.set(context, connection);
  if (idleSeconds > 0) unauthenticated.set(connection.id, context);
  return goOn;
}

export function proxy_on_delete(context: u32): void {
  if (requests.has(context)) {
    endRequest(context);
    return;
  }
  if (!open.has(context)) return;
  const connection = open.get(context);
  open.delete(context);
  unauthenticated.delete(connection.id);
  if (perAddress > 0) addTo(connection.bucket, -1);
}

// ── Their requests ───────────────────────────────────────────────────────────────────────────────────────────────────
/** Requests being served on connections of strangers, by their context: the connection. */
const requests = new Map<u32, Connection>();

export function proxy_on_context_create(context: u32, parent: u32): void {
  if (parent == 0 || parent != requestsRoot || unauthenticated.size == 0) return;
  const id = numberProperty(connectionId);
  if (!unauthenticated.has(id)) return;
  const connection = open.get(unauthenticated.get(id));
  connection.requests += 1;
  requests.set(context, connection);
}

function endRequest(context: u32): void {
  const connection = requests.get(context);
  requests.delete(context);
  connection.requests -= 1;
  connection.idleSince = now;
}

/** The answer is complete. Only the two surfaces answer a POST with 2xx, and only after they have seen a valid key. */
export function proxy_on_log(context: u32): void {
  if (!requests.has(context)) return;
  const status = numberProperty(responseCode);
  if (status < 200 || status > 299 || textProperty(requestMethod) != 'POST') return;
  unauthenticated.delete(requests.get(context).id);
}

export function proxy_on_tick(context: u32): void {
  if (context != connectionsRoot) return;
  now += 1;
  const contexts = unauthenticated.values();
  for (let index = 0; index < contexts.length; index++) {
    const connection = open.get(contexts[index]);
    if (connection.requests > 0 || now - connection.idleSince < idleSeconds) continue;
    incrementMetric(closedIdle, 1);
    setEffectiveContext(contexts[index]);
    closeStream(downstream);
  }
  setEffectiveContext(context);
}
