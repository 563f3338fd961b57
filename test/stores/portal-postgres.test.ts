import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startPortal } from '../../src/programs/portal/running-portal.ts';
import { readPortalSettings } from '../../src/process/settings/read-settings.ts';
import { notedProgramLog } from '../support/noted-log.ts';
import { temporaryFolder } from '../support/sample-database.ts';
import { startPostgres } from '../support/postgres.ts';

it('the portal starts while PostgreSQL is away, says so, and goes on by itself whenever it is back', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.close());
  const url = await postgres.database('portal');
  await postgres.stop();
  const data = temporaryFolder();
  const log = notedProgramLog();
  const settings = {
    WEIR_DATA: data,
    WEIR_DATABASE_URL: url,
    WEIR_ADMIN_PORT: '0',
    WEIR_SERVICES: 'http://127.0.0.1:1',
  };
  const portal = await startPortal(readPortalSettings(settings), log.programLog);
  onTestFinished(() => portal.close());
  const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(`http://127.0.0.1:${portal.port}${path}`, { headers });
    return { status: reply.status, text: await reply.text() };
  };
  const away = async (): Promise<void> => {
    expect(await get('/livez')).toMatchObject({ status: 200 });
    expect(await get('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('not ready: ') });
    // Another report than below: the same one is shared for a second.
    for (const path of ['/api/v1/workspaces', '/api/v1/usage?by=hour', '/api/v1/requests', '/api/v1/events']) {
      const { status, text } = await get(path);
      expect([path, status, JSON.parse(text)]).toEqual([
        ...[path, 503],
        {
          error: {
            message: expect.stringContaining('database does not answer'),
            type: 'service_error',
            code: 'database_down',
          },
        },
      ]);
    }
    // The pages and what needs no database are there.
    expect(await get('/api/openapi.json')).toMatchObject({ status: 200 });
  };
  const here = async (): Promise<void> => {
    await expect.poll(async () => (await get('/readyz')).status).toBe(200);
    expect(await get('/api/v1/workspaces')).toMatchObject({ status: 200 });
    await expect.poll(async () => (await get('/api/v1/usage?by=day')).status).toBe(200);
  };
  await away();
  await postgres.start();
  await here();
  await postgres.stop();
  await away();
  await postgres.start();
  await here();
  expect(log.text().match(/database (?:un)?reachable/g)).toEqual([
    ...['database unreachable', 'database reachable', 'database unreachable', 'database reachable'],
  ]);
}, 120_000);
