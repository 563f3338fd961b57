import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { removeStarts, start } from '../support/start.ts';
import { startEnvoy } from './support/envoy.ts';

afterEach(removeStarts);

const slowService = join(import.meta.dirname, 'support', 'slow-service.mjs');
const warnings = (log: string): readonly string[] =>
  log.split('\n').filter((line) => /\[(warning|error|critical)\]/.test(line));

test('Envoy starts without a warning, however long the service takes to start', async () => {
  const gateway = await start([], { env: { NODE_OPTIONS: `--import=${slowService}`, WEIR_ENVOY_OPS_PORT: '0' } });
  expect(warnings(readFileSync(join(gateway.data, 'logs', 'envoy.log'), 'utf8'))).toEqual([]);
});

test('without a service to ask for endpoints, Envoy warns of each try', async () => {
  const envoy = await startEnvoy();
  try {
    await expect.poll(() => warnings(envoy.log()).length).toBeGreaterThan(2);
    for (const line of warnings(envoy.log())) expect(line).toContain('weir-discovery closed');
  } finally {
    await envoy.stop();
  }
});
