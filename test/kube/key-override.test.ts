// @suite long
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { forFile } from '../support/for-file.ts';
import { metricIn } from '../support/metric-in.ts';
import { startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { chat, removeStarts, start, type Started } from '../support/start.ts';
import { startValkey } from '../support/valkey.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn } from './support/objects.ts';

// A key that an object declares is stopped while PostgreSQL is stopped: on every replica at once, and in the books afterwards.

const kubernetes = inject('kubernetes');
const server = await forFile(startPostgres());
const valkey = await forFile(startValkey());
const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never', words: 3 } }));

afterEach(async () => {
  await removeStarts();
  await server.start();
});

const polling = { interval: 100 };

/** A gateway whose ApiKey `prod` has served requests on every replica. */
async function startServing(database: string, { replicas, env }: Pick<Row, 'replicas'> & { env: object }) {
  const namespace = await makeNamespace(kubernetes);
  const cluster = objectsIn(kubernetes, namespace);
  await cluster.workspace('team');
  await cluster.credit('order-8', 'team', { usd: '25', note: 'order 8' });
  await cluster.apiKey('prod', 'team', { rate: { perSecond: 1000, burst: 2000 } });
  await cluster.backend('demo', { endpoint: { host: '127.0.0.1', port: engine.port } });
  await cluster.model('demo', { routes: [{ backend: 'demo', upstreamModel: 'demo-chat' }] });
  const url = await server.database(database);
  const gateway = await start(['--kubernetes', '--namespace', namespace, '--replicas', String(replicas)], {
    env: { KUBECONFIG: kubernetes.kubeconfig, WEIR_ADMIN_PORT: '0', WEIR_DATABASE_URL: url, ...env },
    portal: true,
  });
  await expect.poll(() => cluster.condition('apikeys', 'prod', 'Ready'), polling).toBe('True Ready');
  await expect.poll(() => existsSync(join(gateway.data, 'ops', 'portal')), polling).toBe(true);
  const key = (await cluster.secretText('prod')) ?? '';
  const opsUrls = [...gateway.stdout().matchAll(/^ops: +(\S+)$/gm)].map(([, ops = '']) => ops);
  const total = async (labels: Readonly<Record<string, string>>): Promise<readonly number[]> =>
    Promise.all(opsUrls.map(async (ops) => metricIn(await (await fetch(ops)).text(), 'weir_requests_total', labels)));
  /** The statuses of requests that come to every replica. */
  const statuses = async (): Promise<readonly number[]> => {
    const before = await total({});
    const all = new Set<number>();
    // Too many of a key that is gone would block the address.
    for (
      let sent = 0;
      sent < 10 * (replicas - 1) || (await total({})).some((count, at) => count === before[at]);
      sent += 5
    ) {
      const ask = (): Promise<Response> => chat({ ...gateway, key }, { model: 'test/demo' });
      for (const answer of await Promise.all(Array.from({ length: 5 }, ask))) {
        await answer.text();
        all.add(answer.status);
      }
    }
    return [...all];
  };
  await expect.poll(statuses, polling).toEqual([200]);
  expect(opsUrls).toHaveLength(replicas);
  const { id } = (await cluster.get('apikeys', 'prod')).status ?? {};
  const weir = async (...words: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runWeir([...words, '--json'], {
      env: { WEIR_DATABASE_URL: url, WEIR_DATA: gateway.data },
    });
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  return { gateway, cluster, statuses, weir, id: String(id) };
}

interface Row {
  readonly name: string;
  readonly replicas: number;
  readonly valkey: boolean;
  /** What an operator does in the outage, and the status of requests after it. */
  readonly commands: readonly (readonly [command: 'suspend' | 'resume' | 'revoke', status: number])[];
  /** The status of the key afterwards. */
  readonly ends: 'suspended' | 'revoked';
  /** The condition of the object afterwards. */
  readonly ready: RegExp;
}

const rows: readonly Row[] = [
  {
    name: 'two replicas with a Valkey',
    ...{ replicas: 2, valkey: true, ends: 'suspended', ready: /^False Overridden: / },
    commands: [
      ['suspend', 403],
      ['resume', 200],
      ['suspend', 403],
    ],
  },
  {
    name: 'a service alone',
    ...{ replicas: 1, valkey: false, ends: 'revoked' },
    commands: [['revoke', 401]],
    // Its Secret has a new key.
    ready: /^True Ready$/,
  },
];

/** The portal is killed, and the next one runs. */
async function restartPortal({ processes }: Started): Promise<void> {
  const portal = (): number => processes()['the portal'] ?? 0;
  const before = portal();
  process.kill(before, 'SIGKILL');
  await expect.poll(() => portal() !== before && portal() !== 0, polling).toBe(true);
}

test.for(rows)('$name: a key is stopped while the database is down, and nothing is lost', async (row) => {
  const env = row.valkey ? { WEIR_VALKEY_URL: valkey.url } : {};
  const { gateway, cluster, statuses, weir, id } = await startServing(`books_${row.replicas}`, { ...row, env });
  await server.stop();
  expect(await statuses()).toEqual([200]);
  for (const [command, status] of row.commands) {
    const said = await weir('key', command, id, '--override');
    const services = Array.from({ length: row.replicas }, () => expect.objectContaining({ answers: true }) as object);
    expect(said).toMatchObject({ id, stored: false, services });
    // The first requests after the command, on every replica.
    expect(await statuses()).toEqual([status]);
  }
  await restartPortal(gateway);
  await server.start();

  const audit = async (): Promise<readonly string[]> => {
    const entries = (await weir('audit')) as readonly { readonly action: string; readonly actor: { kind: string } }[];
    const all = entries.map(({ action, actor }) => `${action} by ${actor.kind}`).toReversed();
    return all.filter((line) => /^key\.(suspend|resume|revoke) /.test(line));
  };
  await expect.poll(audit, polling).toEqual(row.commands.map(([command]) => `key.${command} by admin-token`));
  const [, status] = row.commands.at(-1) ?? [];
  expect(await statuses()).toEqual([status]);
  await cluster.touch('apikeys', 'prod', 'overridden');
  await expect.poll(() => cluster.condition('apikeys', 'prod', 'Ready'), polling).toMatch(row.ready);
  expect(await weir('key', 'list')).toContainEqual(expect.objectContaining({ id, status: row.ends }));
});
