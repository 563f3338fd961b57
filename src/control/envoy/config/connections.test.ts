import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { connectionsModule } from './connection-limits.ts';

/** What the module exports and this test calls. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly _initialize: () => void;
  readonly proxy_on_memory_allocate: (size: number) => number;
  readonly proxy_on_configure: (context: number, size: number) => number;
  readonly proxy_on_new_connection: (context: number) => number;
  readonly proxy_on_delete: (context: number) => void;
}
type Wasm = {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports };
};
const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;
const code = new Module(readFileSync(connectionsModule));

const ok = 0;
const notFound = 1;
const casMismatch = 8;

/** Envoy's shared data, the same for all workers. */
type Shared = Map<string, { readonly value: Uint8Array; readonly version: number }>;

/** One worker of an Envoy: the part of its proxy-wasm interface that the limit per address needs. */
function createWorker(shared: Shared, perAddress: number, beforeSet: () => void = () => {}) {
  let peer = '';
  let wasClosed = false;
  let context = 1;
  const view = (): DataView => new DataView(exports.memory.buffer);
  const bytesAt = (at: number, size: number): Uint8Array => new Uint8Array(exports.memory.buffer, at, size).slice();
  const give = (bytes: Uint8Array, dataAt: number, sizeAt: number): number => {
    const at = exports.proxy_on_memory_allocate(bytes.length);
    new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
    view().setUint32(dataAt, at, true);
    view().setUint32(sizeAt, bytes.length, true);
    return ok;
  };
  const configuration = new TextEncoder().encode(`connections ${perAddress} 0`);
  const env = {
    proxy_get_property: (path: number, size: number, dataAt: number, sizeAt: number) =>
      new TextDecoder().decode(bytesAt(path, size)) === 'source\0address'
        ? give(new TextEncoder().encode(peer), dataAt, sizeAt)
        : notFound,
    proxy_get_buffer_bytes: (_type: number, _start: number, _length: number, dataAt: number, sizeAt: number) =>
      give(configuration, dataAt, sizeAt),
    proxy_get_shared_data: (key: number, size: number, dataAt: number, sizeAt: number, versionAt: number) => {
      const found = shared.get(String(bytesAt(key, size)));
      if (found === undefined) return notFound;
      view().setUint32(versionAt, found.version, true);
      return give(found.value, dataAt, sizeAt);
    },
    proxy_set_shared_data: (key: number, keySize: number, data: number, size: number, version: number) => {
      beforeSet();
      const name = String(bytesAt(key, keySize));
      const current = shared.get(name)?.version ?? 0;
      if (version !== 0 && version !== current) return casMismatch;
      shared.set(name, { value: bytesAt(data, size), version: current + 1 });
      return ok;
    },
    proxy_get_current_time_nanoseconds: (at: number) => {
      view().setBigUint64(at, 1_234_567_890_123_456_789n, true);
      return ok;
    },
    proxy_close_stream: () => {
      wasClosed = true;
      return ok;
    },
    proxy_set_tick_period_milliseconds: () => ok,
    proxy_set_effective_context: () => ok,
    proxy_define_metric: () => ok,
    proxy_increment_metric: () => ok,
  };
  const { exports } = new Instance(code, { env });
  exports._initialize();
  exports.proxy_on_configure(1, configuration.length);
  return {
    /** Opens a connection; the way to close it, or undefined where it was refused. */
    open: (address: string): (() => void) | undefined => {
      const own = (context += 1);
      peer = address;
      wasClosed = false;
      exports.proxy_on_new_connection(own);
      if (!wasClosed) return () => exports.proxy_on_delete(own);
      exports.proxy_on_delete(own);
      return undefined;
    },
  };
}

const isOpen = (connection: (() => void) | undefined): boolean => connection !== undefined;

describe('the module in Envoy', () => {
  it('counts connections of an address on all workers together, and again after they were closed', () => {
    const shared: Shared = new Map();
    const workers = [createWorker(shared, 3), createWorker(shared, 3)] as const;
    const first = workers[0].open('192.0.2.1:1');
    expect([workers[1].open('192.0.2.1:2'), workers[0].open('192.0.2.1:3')].map(isOpen)).toEqual([true, true]);
    expect([workers[0].open('192.0.2.1:4'), workers[1].open('192.0.2.1:5')].map(isOpen)).toEqual([false, false]);
    expect(isOpen(workers[1].open('192.0.2.2:4'))).toBe(true);
    first?.();
    expect([workers[1].open('192.0.2.1:6'), workers[0].open('192.0.2.1:7')].map(isOpen)).toEqual([true, false]);
  });

  it.each([
    ['[2001:db8:0:1::1]:1', '[2001:db8:0:1:ffff::2]:2', 'the same'],
    ['[2001:db8::1]:1', '[2001:db8:0:0:1::]:2', 'the same'],
    ['[::ffff:192.0.2.1]:1', '192.0.2.1:2', 'the same'],
    ['[2001:db8:0:1::1]:1', '[2001:db8:0:2::1]:1', 'another'],
    ['[2001:db8:0:1::]:1', '[2001:db8::1:0:0:0]:1', 'another'],
    ['192.0.2.1:1', '192.0.2.11:1', 'another'],
  ])('after %s, %s is %s address', (before, then, which) => {
    const worker = createWorker(new Map(), 1);
    worker.open(before);
    expect(isOpen(worker.open(then))).toBe(which === 'another');
  });

  it('loses no connection when two workers count at the same moment', () => {
    const shared: Shared = new Map();
    const other = createWorker(shared, 3);
    other.open('192.0.2.1:1');
    let interferes = true;
    const worker = createWorker(shared, 3, () => {
      if (!interferes || shared.size < 2) return;
      interferes = false;
      other.open('192.0.2.1:2');
    });
    expect(isOpen(worker.open('192.0.2.1:3'))).toBe(true);
    expect([worker.open('192.0.2.1:4'), other.open('192.0.2.1:5')].map(isOpen)).toEqual([false, false]);
  });

  it('keeps no more memory for more addresses than there are counts', () => {
    const shared: Shared = new Map();
    const worker = createWorker(shared, 1_000);
    for (let index = 0; index < 80_000; index += 1)
      worker.open(`[2001:db8:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::1]:1`)?.();
    expect(shared.size).toBeLessThanOrEqual(65_536 + 1);
    expect(shared.size).toBeGreaterThan(40_000);
  });
});
