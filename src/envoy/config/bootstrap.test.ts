import { describe, expect, it } from 'vitest';
import { renderBootstrap } from './bootstrap.ts';
import { runFolder } from './run-folder.ts';

const render = (folder: string): string =>
  JSON.stringify(
    renderBootstrap({
      runFolder: folder,
      edge: { address: '0.0.0.0', port: 8080 },
      trustedHops: 2,
      models: { perMinute: 90, burst: 10 },
      flood: { perSecond: 7, burst: 9 },
      maxConnections: 123,
      heapBytes: 456,
    }),
  );

describe('the bootstrap', () => {
  it('holds what the operator decided', () => {
    const text = render('/run/weir');
    for (const part of [
      '"xff_num_trusted_hops":2',
      '"max_active_downstream_connections":123',
      '"max_heap_size_bytes":456',
      '"token_bucket":{"max_tokens":9,"tokens_per_fill":7,"fill_interval":"1s"}',
      // 90 a minute are 3 every two seconds.
      '"token_bucket":{"max_tokens":10,"tokens_per_fill":3,"fill_interval":"2s"}',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('has no port of its own beside the edge: admin, egress and the service are sockets', () => {
    expect(render('/run/weir').match(/"port_value":\d+/g)).toEqual(['"port_value":8080']);
  });

  it('refuses a folder in which a socket would have too long a path', () => {
    expect(() => render(`/${'a'.repeat(93)}`)).not.toThrow();
    expect(() => render(`/${'a'.repeat(94)}`)).toThrow('too long');
    // Bytes count, not characters.
    expect(() => render(`/${'ä'.repeat(50)}`)).toThrow('too long');
  });
});

it('a run folder is named with or without a slash at its end', () => {
  expect(runFolder('/run/weir/')).toEqual(runFolder('/run/weir'));
});
