import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../test/support/free-port.ts';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleDatabase, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleProblem, sampleReport } from '../../../test/support/sample-problem.ts';
import type { Problem } from '../../control/core/problem.ts';
import { systemClock } from '../../process/clock.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { openAccounts } from '../../books/store/open-accounts.ts';
import { startOps } from '../../telemetry/ops/server.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

/** A service on a data folder of its own, of which there are its ops port and its problems alone. */
async function setUp(problems: readonly Problem[]) {
  const { location } = await sampleDatabase();
  if (location.kind !== 'sqlite') throw new Error('expected a file');
  const data = location.file.replace(/\/[^/]+$/, '');
  const accounts = await openAccounts(location, { missing: 'refuse', user: 'operator' });
  const secret = await accounts.sharedSecret();
  await accounts.close();
  const ops = await startOps({
    ...{ port: 0, clock: systemClock, metrics: async () => '', unready: () => undefined },
    internal: {
      ...{ secret: () => secret, catalog: async function* () {}, problems: () => sampleReport(problems) },
      logLevel: { current: () => 'info', set: () => undefined },
      stories: {
        after: (after) => ({ process: 'p1', next_after: after, has_more: false, missed: 0, requests: [] }),
        latest: () => ({ process: 'p1', seq: 0 }),
        onEnded: () => undefined,
        find: () => [],
      },
    },
  });
  onTestFinished(ops.close);
  leaveOpsAddress(data, { program: 'service-1', origin: `http://127.0.0.1:${ops.port}` });
  return { data };
}

const run = async (data: string, flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await runCommand(['problems', '--data', data, ...flags], { env });
  return { code, stdout, stderr };
};
const json = async (data: string, env?: Readonly<Record<string, string>>) => {
  const { code, stdout } = await run(data, ['--json'], env);
  return { code, said: JSON.parse(stdout) as unknown };
};

describe('weir problems', () => {
  it('says that there are none', async () => {
    const { data } = await setUp([]);
    expect(await run(data)).toEqual({ code: 0, stdout: 'No problems.\n', stderr: '' });
    expect(await json(data)).toEqual({ code: 0, said: [] });
  });

  it('lists those there are, for scripts with four fields, for people as a table', async () => {
    const { data } = await setUp([sampleProblem()]);
    const { object, problem, since, action } = sampleProblem();
    expect(await json(data)).toEqual({ code: 0, said: [{ object, problem, since, action }] });
    expect((await run(data)).stdout.split('\n')).toEqual([
      'object          since                 problem, and what to do',
      'Backend/vllm-a  2026-07-01T12:00:00Z  No endpoint takes requests.',
      `                                      → ${action}`,
      '',
    ]);
  });

  it('says that no service runs with the data folder', async () => {
    const said = [
      { object: 'service', problem: expect.stringMatching(/^No service runs/), action: expect.any(String) },
    ];
    expect(await json(temporaryFolder())).toMatchObject({ code: 0, said });
  });

  it('says that a service does not answer', async () => {
    const { data } = await setUp([]);
    const port = await freePort();
    leaveOpsAddress(data, { program: 'service-2', origin: `http://127.0.0.1:${port}` });
    const problem = expect.stringMatching(/^Does not answer: .*ECONNREFUSED/);
    expect(await json(data)).toMatchObject({ code: 0, said: [{ object: `service/127.0.0.1:${port}`, problem }] });
  });

  it('says that the database is down, without which no service answers', async () => {
    const { data } = await setUp([]);
    const url = `postgres://weir:secret-word@127.0.0.1:${await freePort()}/weir`;
    const env = { WEIR_DATABASE_URL: url, WEIR_DATA: data };
    const { code, stdout } = await runCommand(['problems', '--json'], { env });
    const problem = expect.stringMatching(/^.+ \(.+\): the command cannot open it, so it cannot reach the services\.$/);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ object: 'database', problem }]]);
    expect(stdout).not.toContain('secret-word');
  });
});
