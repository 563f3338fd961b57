import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { notedProgramLog } from '../../../test/support/noted-log.ts';
import { runWeir } from '../../../test/support/run-weir.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { readPortalSettings } from '../../process/settings/read-settings.ts';
import { startPortal } from './running-portal.ts';

describe('weir portal', () => {
  it('lists its settings, and refuses a bad one by name', async () => {
    const help = await runWeir(['portal', '--help']);
    for (const name of ['WEIR_ADMIN_PORT', 'WEIR_ADMIN_TOKEN_FILE', 'WEIR_SERVICES'])
      expect(help.stdout).toContain(name);
    const bad = await runWeir(['portal', '--data', temporaryFolder()], { env: { WEIR_ADMIN_HOST: 'localhost' } });
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringMatching(/^weir portal: WEIR_ADMIN_HOST: /)]);
    const file = join(temporaryFolder(), 'none');
    const missing = await runWeir(['portal', '--data', temporaryFolder()], { env: { WEIR_ADMIN_TOKEN_FILE: file } });
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(file)]);
  });

  it('serves reports from a thread, warns when other machines reach it, and has no token in its log', async () => {
    const data = temporaryFolder();
    const { programLog, text } = notedProgramLog();
    const open = {
      WEIR_DATA: data,
      WEIR_ADMIN_HOST: '0.0.0.0',
      WEIR_ADMIN_PORT: '0',
      WEIR_SERVICES: 'http://127.0.0.1:1',
    };
    const portal = await startPortal(readPortalSettings(open), programLog);
    expect(text()).toContain('put a TLS proxy in front of it');
    const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}` };
    const get = async (path: string, { port } = portal) =>
      fetch(`http://127.0.0.1:${port}/api/v1/${path}`, { headers });
    expect(await (await get('usage?by=day')).json()).toMatchObject({ data: [] });
    expect(await (await get('session')).json()).toMatchObject({ identities: false });
    expect(await (await get('requests')).json()).toEqual({ data: [], next_cursor: null });
    const refused = await get('usage?from=2026-07-01T00:30:00Z');
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: expect.objectContaining({ field: 'from' }) },
    ]);
    expect(await (await get('models')).json()).toMatchObject({ services: [{ answers: false }], data: [] });
    await portal.close();
    await expect(get('usage')).rejects.toThrow('fetch failed');
    expect(text()).not.toContain(token);
    const loopback = notedProgramLog();
    const others = { WEIR_ADMIN_HOST: '127.0.0.1', WEIR_IDENTITIES: 'on' };
    const own = await startPortal(readPortalSettings({ ...open, ...others }), loopback.programLog);
    expect(await (await get('session', own)).json()).toMatchObject({ identities: true });
    await own.close();
    expect(loopback.text()).not.toContain('TLS');
  });
});
