import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readEdgeSettings, writeEnvoyFiles } from './envoy-files.ts';

const read = (env: Readonly<Record<string, string>>, openFiles: number | undefined = 1_048_576) =>
  readEdgeSettings(env, { defaultHost: '127.0.0.1', openFiles });

test('without settings the edge is where its starter wants it, with limits for one address', () => {
  expect(read({})).toEqual({
    host: '127.0.0.1',
    trustedHops: 0,
    surfaces: ['chat', 'messages'],
    furtherPaths: 'off',
    maxConnections: 20_000,
    connections: { perAddress: 2_500, unauthenticatedIdleSeconds: 15 },
  });
});

test('the settings decide', () => {
  const env = {
    WEIR_EDGE_HOST: '::',
    WEIR_CONNECTIONS_PER_ADDRESS: '0',
    WEIR_UNAUTHENTICATED_IDLE_SECONDS: '30',
  };
  expect(read(env)).toMatchObject({
    host: '::',
    connections: { perAddress: 0, unauthenticatedIdleSeconds: 30 },
  });
});

test('the responses surface is served where it is switched on', () => {
  expect(read({ WEIR_RESPONSES: 'stateless' }).surfaces).toEqual(['chat', 'messages', 'responses']);
  expect(read({ WEIR_RESPONSES: 'off' }).surfaces).toEqual(['chat', 'messages']);
  expect(() => read({ WEIR_RESPONSES: 'on' })).toThrow('WEIR_RESPONSES: expected off or stateless');
});

test('behind proxies no peer is held to a limit of one caller', () => {
  expect(read({ WEIR_TRUSTED_HOPS: '1', WEIR_CONNECTIONS_PER_ADDRESS: '5' })).toMatchObject({
    trustedHops: 1,
    connections: undefined,
  });
});

test.each([
  [1_048_576, 20_000, 2_500],
  [undefined, 20_000, 2_500],
  [20_000, 6_581, 2_194],
  [1_024, 256, 86],
  [260, 1, 1],
])('with %s open files there are %s connections, and %s for an address', (openFiles, maxConnections, perAddress) => {
  expect(read({}, openFiles)).toMatchObject({ maxConnections, connections: { perAddress } });
});

test('too few open files for any connection are refused', () => {
  expect(() => read({}, 256)).toThrow('only 256 files open');
});

test.each([
  ['WEIR_EDGE_HOST', 'localhost', 'expected an IP address'],
  ['WEIR_EDGE_HOST', '10.0.0.1:80', 'expected an IP address'],
  ['WEIR_TRUSTED_HOPS', '100', 'from 0 to 99'],
  ['WEIR_CONNECTIONS_PER_ADDRESS', '-1', 'expected a whole number'],
  ['WEIR_CONNECTIONS_PER_ADDRESS', 'many', 'expected a whole number'],
  ['WEIR_UNAUTHENTICATED_IDLE_SECONDS', '621', 'from 0 to 620'],
])('%s=%s is refused by name', (name, value, message) => {
  expect(() => read({ [name]: value })).toThrow(`${name}: `);
  expect(() => read({ [name]: value })).toThrow(message);
});
test('Envoy has a tracer when a collector is named, and a bad variable of tracing is refused by name', () => {
  const run = mkdtempSync(join(tmpdir(), 'weir-files-'));
  onTestFinished(() => rmSync(run, { recursive: true }));
  const bootstrap = (env: Readonly<Record<string, string>>): string =>
    readFileSync(writeEnvoyFiles({ run, port: 0, edge: read({}), env }).files.bootstrapFile, 'utf8');
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  expect(bootstrap({ OTEL_TRACES_SAMPLER: 'always_on' })).not.toContain('OpenTelemetryConfig');
  expect(bootstrap(on)).toContain('OpenTelemetryConfig');
  // Only the service talks to it, with the credentials.
  expect(bootstrap(on)).not.toContain('collector:4318');
  expect(() => bootstrap({ ...on, OTEL_TRACES_SAMPLER: 'sometimes' })).toThrow('OTEL_TRACES_SAMPLER: expected one of');
});
