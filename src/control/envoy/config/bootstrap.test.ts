import { describe, expect, it } from 'vitest';
import { type BootstrapOptions, renderBootstrap } from './bootstrap.ts';
import { runFolder } from './run-folder.ts';

const render = (folder: string, more: Partial<BootstrapOptions> = {}): string =>
  JSON.stringify(
    renderBootstrap({
      ...more,
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

  it('leads the port for another Envoy to a socket of its own, and never to that of our own Envoy', () => {
    const listenerFor = /"name":"ext-proc".*?"cluster":"([\w-]+)"/;
    const text = render('/run/weir', { extProc: { address: '0.0.0.0', port: 9093 } });
    const [, cluster = ''] = text.match(listenerFor) ?? [];
    const socketOf = (name: string): string | undefined =>
      text.match(new RegExp(`"name":"${name}","connect_timeout".*?"path":"([^"]+)"`))?.[1];
    expect(socketOf(cluster)).toBe('/run/weir/others.sock');
    expect(socketOf('weir-service')).toBe('/run/weir/extproc.sock');
    expect(render('/run/weir')).not.toMatch(/others\.sock/);
  });

  it('has no tracer, no cluster and no setting of tracing where nothing is traced', () => {
    expect(render('/run/weir')).not.toMatch(/opentelemetry|traces|"tracing"/);
    expect(render('/run/weir')).toContain('"generate_request_id":false');
  });

  it('has a tracer on both sides where traces are recorded: the edge decides, and egress continues', () => {
    const ratioOf = (numerator: number): string =>
      `"sampling_percentage":{"numerator":${numerator},"denominator":"MILLION"}`;
    const text = render('/run/weir', { tracing: { followsCaller: true, ratio: 0.015 } });
    expect(text.match(/ParentBasedSamplerConfig/g)).toHaveLength(2);
    expect(text.match(/"sampling_percentage":\{[^}]*\}/g)).toEqual([ratioOf(15_000), ratioOf(0)]);
    expect(text.match(/"random_sampling":\{"value":100\}/g)).toHaveLength(2);
    // Envoy traces no request without an id.
    expect(text).not.toContain('"generate_request_id":false');
    expect(text).toContain('"path":"/run/weir/traces.sock"');

    const deaf = render('/run/weir', { tracing: { followsCaller: false, ratio: 1 }, services: 3 });
    expect(deaf.match(/ParentBasedSamplerConfig/g)).toHaveLength(1);
    expect(deaf.match(/traces-\d\.sock/g)).toEqual(['traces-1.sock', 'traces-2.sock', 'traces-3.sock']);
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
