import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { databaseUrl } from '../../../test/support/sample-store.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

async function begin() {
  const { ids, location, settle } = await sampleDatabase('10');
  await settle([sampleOutcome({ ...ids, requestId: 'r1', cost: 1_500_000n, tags: 'team=search' })]);
  await settle([sampleOutcome({ ...ids, requestId: 'r2', cost: 500_000n, startedAt: Date.UTC(2026, 6, 31) })]);
  const env = { WEIR_DATABASE_URL: databaseUrl(location) };
  const label = (labels: string) => runCommand(['workspace', 'limits', 'acme', '--labels', labels], { env });
  return { ids, label, weir: (...args: readonly string[]) => runCommand(['statement', ...args], { env }) };
}

it('prints the account of a month for people, and as JSON and CSV', async () => {
  const { ids, label, weir } = await begin();
  expect(await label('cost-centre=42')).toMatchObject({ code: 0 });
  const { code, stdout } = await weir('acme', '2026-07');
  expect(code).toBe(0);
  const words = stdout.replaceAll(/ +/g, ' ');
  for (const line of [
    `Statement of acme (${ids.workspaceId}) for 2026-07, USD\ncost-centre: 42\nLINE TAG NAME WHEN AMOUNT REQUESTS COST`,
    'opening-balance 0',
    ' 2026-07-01 10',
    'usage -0.000002',
    'closing-balance 9.999998',
    'tag team search 1 0.0000015',
    'tag team 1 0.0000005',
  ])
    expect(words).toContain(line);
  const json: unknown = JSON.parse((await weir(ids.workspaceId, '2026-07', '--format', 'json')).stdout);
  expect(json).toMatchObject({ state: 'closed', labels: { 'cost-centre': '42' }, closing_balance: '9.999998' });
  expect(JSON.parse((await weir('acme', '2026-07', '--json')).stdout)).toEqual(json);
  const [titles = '', ...rows] = (await weir('acme', '2026-07', '--format', 'csv')).stdout.trim().split('\r\n');
  expect(titles).toMatch(/^workspace,workspace_id,month,state,label:cost-centre,line,tag,id,name,when,amount,/);
  const own = `acme,${ids.workspaceId},2026-07,closed,42`;
  expect(rows.every((row) => row.startsWith(`${own},`))).toBe(true);
  expect(rows).toContain(`${own},usage,,,,,-0.000002,,,,,,,,,`);
  expect(rows).toContain(`${own},tag,team,search,,,,1,120,10,30,5,0,0.0000015,75,0`);
});

it('refuses what is no month and no workspace', async () => {
  const { label, weir } = await begin();
  expect((await weir('acme', '2026-13')).stderr).toContain('It must be a month such as 2026-11.');
  expect((await weir('acme', '2026-06')).stderr).toContain('The workspace has no statement for 2026-06');
  expect((await weir('acme', '2999-01')).stderr).toContain('The month 2999-01 has not begun');
  expect((await weir('nobody', '2026-07')).stderr).toContain('There is no workspace named "nobody"');
  for (const labels of [
    'team',
    'team=a b',
    '/team=a',
    `${'x'.repeat(64)}=a`,
    Array.from({ length: 17 }, (_, at) => `l${at}=`).join(),
  ])
    expect((await label(labels)).stderr).toContain('It must be at most 16 labels such as cost-centre=42');
  expect((await weir('acme', '2026-07', '--format', 'xml')).stderr).toContain('Allowed choices are json, csv');
});
