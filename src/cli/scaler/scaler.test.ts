import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { notedProgramLog } from '../../../test/support/noted-log.ts';
import { runWeir } from '../../../test/support/run-weir.ts';
import { sampleDemand } from '../../../test/support/sample-demand.ts';
import { refOf, scalerClient } from '../../../test/support/scaler-client.ts';
import { readScalerSettings } from '../../read-settings.ts';
import { scalerSettingsSchema } from '../../scaler-settings.ts';
import { startScaler } from './running-scaler.ts';

const freePorts = { WEIR_SCALER_PORT: '0', WEIR_OPS_PORT: '0' };

describe('weir scaler', () => {
  it('lists its settings, and refuses a bad one by name', async () => {
    const help = await runWeir(['scaler', '--help']);
    for (const name of Object.keys(scalerSettingsSchema.shape)) expect(help.stdout).toContain(name);
    const bad = await runWeir(['scaler', '--services', 'weir:9090']);
    expect([bad.code, bad.stderr]).toEqual([
      1,
      'weir scaler: WEIR_SERVICES: expected addresses such as http://127.0.0.1:9090, with commas\n',
    ]);
  });

  it('answers with what the services report, and counts and logs what it cannot answer', async () => {
    const service = createServer((_, response) => {
      response.end(JSON.stringify({ backends: [sampleDemand({ work_tokens: 21_000, quiet_ms: 0 })] }));
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const { programLog, text } = notedProgramLog();
    const settings = readScalerSettings({ ...freePorts, WEIR_SERVICES: `http://127.0.0.1:${port}` });
    const scaler = await startScaler(settings, { programLog });
    const client = scalerClient(scaler.port);
    try {
      expect(await client.wantedReplicas(refOf({ backend: 'vllm-a' }))).toBe(3);
      await expect(client.isActive(refOf({ backend: 'vllm-b' }))).rejects.toThrow('metadata.backend');
      expect(text()).toContain('"scaledObject":"models/engines","kind":"unknown"');
      const { opsPort } = JSON.parse(text().match(/^.*"msg":"ready".*$/m)?.[0] ?? '{}') as { readonly opsPort: number };
      const get = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${opsPort}${path}`)).text();
      expect(await get('/readyz')).toBe('ok\n');
      const metrics = await get('/metrics');
      expect(metrics).toMatch(/^weir_scaler_answers_total\{method="IsActive",result="unknown"\} 1$/m);
      expect(metrics).toMatch(/^weir_scaler_services\{answers="yes"\} 1$/m);
    } finally {
      client.close();
      await scaler.close();
      service.close();
      service.closeAllConnections();
    }
  });
});
