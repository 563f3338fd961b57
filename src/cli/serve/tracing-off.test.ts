import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Loads modules, and prints how many of OpenTelemetry's SDK come along. Its API does in any case: prom-client asks it for the trace of an exemplar. */
const printLoaded = `
import { registerHooks } from 'node:module';
const loaded = [];
const ofSdk = new RegExp('@opentelemetry/(?!api/)');
registerHooks({ load: (url, context, next) => (ofSdk.test(url) && loaded.push(url), next(url, context)) });
for (const module of process.argv.slice(1)) await import(module);
console.log(loaded.length);
process.exit();
`;

async function loadedBy(...modules: readonly string[]): Promise<number> {
  const paths = modules.map((module) => join(import.meta.dirname, module));
  const args = ['--input-type=module', '--eval', printLoaded, ...paths];
  return Number((await promisify(execFile)(process.execPath, args)).stdout);
}

it('a service and its starter load nothing of the SDK before tracing is on', async () => {
  expect(await loadedBy('serve.ts', '../start/start.ts', '../commands/envoy.ts')).toBe(0);
  // Its twin: what is loaded then would be seen.
  expect(await loadedBy('../../telemetry/otlp/open-tracing.ts')).toBeGreaterThan(10);
});
