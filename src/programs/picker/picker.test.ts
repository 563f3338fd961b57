import { describe, expect, it } from 'vitest';
import { notedProgramLog } from '../../../test/support/noted-log.ts';
import { runWeir } from '../../../test/support/run-weir.ts';
import { pickerSettingsSchema } from '../../process/settings/settings.ts';
import { readPickerSettings } from '../../process/settings/read-settings.ts';
import { startPicker } from './running-picker.ts';

const endpoints = { WEIR_PICKER_ENDPOINTS: '127.0.0.1:9,[::1]:9' };
const freePorts = { WEIR_PICKER_PORT: '0', WEIR_PICKER_HEALTH_PORT: '0', WEIR_OPS_PORT: '0' };

describe('weir picker', () => {
  it('lists its settings, and refuses a bad one by name', async () => {
    const help = await runWeir(['picker', '--help']);
    for (const name of Object.keys(pickerSettingsSchema.shape)) expect(help.stdout).toContain(name);
    const bad = await runWeir(['picker', '--endpoint', 'engine:8000']);
    expect([bad.code, bad.stderr]).toEqual([
      1,
      'weir picker: WEIR_PICKER_ENDPOINTS: expected addresses such as 10.0.0.5:8000,[fd00::5]:8000, with commas\n',
    ]);
    const pool = await runWeir(['picker', '--pool', 'qwen']);
    expect(pool.stderr).toBe('weir picker: WEIR_PICKER_POOL: expected NAMESPACE/NAME, got "qwen"\n');
  });

  it.each([
    ['neither a pool nor endpoints', {}, /^expected either --pool .* or --endpoint /],
    ['both', { ...endpoints, WEIR_PICKER_POOL: 'a/b' }, /^expected either --pool .* or --endpoint /],
    ['a certificate without its key', { ...endpoints, WEIR_TLS_CERTIFICATE_FILE: 'c.pem' }, /^expected both WEIR_TLS/],
    [
      'a certificate that is not there',
      { ...endpoints, WEIR_TLS_CERTIFICATE_FILE: '/nowhere/c.pem', WEIR_TLS_KEY_FILE: 'k.pem' },
      /^WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE: ENOENT/,
    ],
    [
      'authorities of gateways without a certificate of its own',
      { ...endpoints, WEIR_PICKER_CLIENT_CA_FILE: 'ca.pem' },
      /^WEIR_PICKER_CLIENT_CA_FILE: expected WEIR_TLS_CERTIFICATE_FILE/,
    ],
  ])('refuses %s', async (_, environment, message) => {
    const { programLog } = notedProgramLog();
    const settings = readPickerSettings({ ...freePorts, ...environment });
    await expect(startPicker(settings, { programLog })).rejects.toThrow(message);
  });

  it('is ready once it knows its endpoints, and says what it knows', async () => {
    const { programLog, text } = notedProgramLog();
    const picker = await startPicker(readPickerSettings({ ...freePorts, ...endpoints }), { programLog });
    try {
      const { opsPort } = JSON.parse(text().match(/^.*"msg":"ready".*$/m)?.[0] ?? '{}') as { readonly opsPort: number };
      const get = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${opsPort}${path}`)).text();
      expect(await get('/readyz')).toBe('ok\n');
      expect(await get('/metrics')).toMatch(/^weir_picker_endpoints 2$/m);
      // Another program's secrets are none of this one's.
      expect(await get('/internal/log-level')).toBe('not found\n');
    } finally {
      await picker.close();
    }
  });
});
