import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { compileCache } from '../../../test/support/program-environment.ts';

/** Loads modules, and prints how many modules of a package come along. */
const printLoaded = `
import { registerHooks } from 'node:module';
const [pattern, ...modules] = process.argv.slice(1);
const loaded = [];
const wanted = new RegExp(pattern);
registerHooks({ load: (url, context, next) => (wanted.test(url) && loaded.push(url), next(url, context)) });
for (const module of modules) await import(module);
console.log(loaded.length);
process.exit();
`;

async function loadedBy(pattern: string, ...modules: readonly string[]): Promise<number> {
  const paths = modules.map((module) => join(import.meta.dirname, module));
  const args = ['--input-type=module', '--eval', printLoaded, pattern, ...paths];
  const env = { ...process.env, ...compileCache };
  return Number((await promisify(execFile)(process.execPath, args, { env })).stdout);
}

/** OpenTelemetry's SDK. Its API is loaded in any case: prom-client asks it for the trace of an exemplar. */
const sdk = '@opentelemetry/(?!api/)';
const sql = '/kysely/';
const kubernetesClient = '/@kubernetes/client-node/';
const httpClient = '/node_modules/undici/';

it('a service and its starter load nothing of the SDK before tracing is on', async () => {
  expect(await loadedBy(sdk, 'serve.ts', 'service.ts', '../start/start.ts', '../commands/envoy.ts')).toBe(0);
  // Its twin: what is loaded then would be seen.
  expect(await loadedBy(sdk, '../../telemetry/otlp/open-tracing.ts')).toBeGreaterThan(10);
});

it('the main thread of a service loads no SQL, which its other threads load', async () => {
  expect(await loadedBy(sql, 'serve.ts', 'service.ts', '../start/start.ts')).toBe(0);
  expect(await loadedBy(sql, '../../books/store/store-worker.ts')).toBeGreaterThan(100);
});

it('a service and its starter load no Kubernetes client before their catalog is in a cluster', async () => {
  expect(await loadedBy(kubernetesClient, 'serve.ts', 'service.ts', '../start/start.ts')).toBe(0);
  expect(await loadedBy(kubernetesClient, '../../control/reconcilers/kube-catalog.ts')).toBeGreaterThan(500);
});

it('a program loads no parser of commands, no provider of web searches and no installer before it needs them', async () => {
  const unused = '/commander/|/web-search/providers/|/yauzl/';
  const programs = ['../command-line/command-line.ts', 'serve.ts', 'service.ts', '../start/start.ts'];
  expect(await loadedBy(unused, ...programs, '../local/install-envoy.ts')).toBe(0);
  const needed = ['../command-line/run-command.ts', '../local/install-program.ts'];
  expect(await loadedBy(unused, ...needed, '../../gateway/web-search/providers/open-search.ts')).toBeGreaterThan(5);
});

it('a starter loads no HTTP client of its own, which a service loads', async () => {
  expect(await loadedBy(httpClient, '../start/start.ts')).toBe(0);
  expect(await loadedBy(httpClient, 'service.ts')).toBeGreaterThan(50);
});
