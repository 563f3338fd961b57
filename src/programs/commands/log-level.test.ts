import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleReport } from '../../../test/support/sample-problem.ts';
import type { LogLevel } from '../../core/log-level.ts';
import { systemClock } from '../../process/clock.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { readPortalSettings } from '../../process/settings/read-settings.ts';
import { openAccounts } from '../../books/store/open-accounts.ts';
import { startOps } from '../../telemetry/ops/server.ts';
import { startPortal } from '../portal/running-portal.ts';
import { createLog } from '../command-line/program-log.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

const silentLog = () => createLog('info', { output: { write: () => undefined }, onLevel: () => undefined });

/** A portal and a service on one data folder, as `weir start` runs them. The service is its ops port alone. */
async function setUp() {
  const data = temporaryFolder();
  const portalLog = silentLog();
  const portal = await startPortal(readPortalSettings({ WEIR_DATA: data, WEIR_ADMIN_PORT: '0' }), portalLog);
  onTestFinished(portal.close);
  const accounts = await openAccounts(
    { kind: 'sqlite', file: `${data}/weir.db` },
    { missing: 'refuse', user: 'operator' },
  );
  const secret = await accounts.sharedSecret();
  await accounts.close();
  const serviceLog = silentLog();
  const ops = await startOps({
    ...{ port: 0, clock: systemClock, metrics: async () => '', unready: () => undefined },
    internal: {
      ...{ secret: () => secret, logLevel: serviceLog.level, catalog: async function* () {} },
      problems: sampleReport,
      stories: {
        after: (after) => ({ process: 'p1', next_after: after, has_more: false, missed: 0, requests: [] }),
        latest: () => ({ process: 'p1', seq: 0 }),
        onEnded: () => undefined,
        find: () => [],
      },
    },
  });
  onTestFinished(ops.close);
  const service = `http://127.0.0.1:${ops.port}`;
  leaveOpsAddress(data, { program: 'service-1', origin: service });
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await runCommand(['log-level', ...args, '--data', data, '--json'], { env });
    return { code, said: JSON.parse(stdout === '' ? stderr : stdout) as unknown };
  };
  const levels = (): readonly LogLevel[] => [serviceLog.level.current(), portalLog.level.current()];
  return { data, run, levels, ops, service, portal: `http://127.0.0.1:${portal.port}` };
}

describe('weir log-level', () => {
  it('shows and changes what the services and the portal of a data folder log, or one of them', async () => {
    const { run, levels, service, portal } = await setUp();
    const said = (first: string, second: string) => [
      { service, level: first, problem: null },
      { service: portal, level: second, problem: null },
    ];
    expect(await run([])).toEqual({ code: 0, said: said('info', 'info') });
    expect(await run(['debug'])).toEqual({ code: 0, said: said('debug', 'debug') });
    expect(levels()).toEqual(['debug', 'debug']);
    expect(await run(['warn', '--at', portal])).toEqual({ code: 0, said: said('', 'warn').slice(1) });
    expect(await run([], { WEIR_SERVICES: service })).toEqual({ code: 0, said: said('debug', 'warn') });
  });

  it('names the service that does not answer, and refuses what is no level', async () => {
    const { data, run, levels, ops, service, portal } = await setUp();
    expect(await run(['loud'])).toEqual({
      code: 2,
      said: {
        code: 'command_malformed',
        error: expect.stringContaining('Allowed choices are debug, info, warn, error.'),
      },
    });
    expect(await run(['debug', '--at', 'portal'])).toMatchObject({
      code: 1,
      said: { error: expect.stringContaining('--at: expected addresses such as http://127.0.0.1:9090') },
    });
    expect(levels()).toEqual(['info', 'info']);
    await ops.close();
    const away = expect.stringContaining('ECONNREFUSED');
    expect(await run(['error'])).toEqual({
      code: 1,
      said: [
        { service, level: null, problem: away },
        { service: portal, level: 'error', problem: null },
      ],
    });
    const text = await runCommand(['log-level', '--data', data]);
    expect(text.stdout).toMatch(/^service +level\n.*ECONNREFUSED.*\n.* +error\n$/);
    expect(await run(['debug', '--at', service])).toMatchObject({
      code: 1,
      said: { error: away, code: 'no_program_answers' },
    });
  });
});
