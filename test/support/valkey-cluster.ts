import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Valkey } from 'iovalkey';
import { findValkey } from './find-valkey.ts';
import { freePort } from './free-port.ts';

/** A Valkey or Redis cluster of a test's own: masters without replicas, on the loopback, each with a third of the slots. */
export interface TestCluster {
  /** For `WEIR_VALKEY_URL`. */
  readonly url: string;
  /** The number of the master that has a key. */
  readonly masterOf: (key: string) => Promise<number>;
  /** Ends a master with SIGKILL. */
  readonly kill: (master: number) => Promise<void>;
  /** Starts it again at the same place with the same slots, empty. Resolves when all masters know of it; at once when it runs. */
  readonly start: (master: number) => Promise<void>;
  /** Stops it where it stands: connections stay open and nothing is answered. */
  readonly freeze: (master: number) => void;
  readonly thaw: (master: number) => void;
  /** Asks the master that has a key something behind the back of what is under test. */
  readonly ask: <Answer>(key: string, question: (client: Valkey) => Promise<Answer>) => Promise<Answer>;
  /** Moves the keys of a key's slot to another master. The slot is the other one's once `end` is called: ASK before, MOVED after. */
  readonly moveSlotOf: (key: string) => Promise<{ readonly end: () => Promise<void> }>;
  readonly close: () => Promise<void>;
}

const masters = 3;
const slots = 16_384;
const bound = (master: number): number => Math.round((slots * master) / masters);

interface Master {
  readonly port: number;
  readonly folder: string;
  readonly busPort: number;
  child: ChildProcess | undefined;
  readonly client: Valkey;
}

export async function startValkeyCluster(): Promise<TestCluster> {
  const path = await findValkey();
  const folder = mkdtempSync(join(tmpdir(), 'weir-valkey-cluster-'));
  const all: Master[] = [];
  for (let index = 0; index < masters; index += 1) {
    const own = join(folder, String(index));
    mkdirSync(own);
    const port = await freePort();
    const client = new Valkey({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    all.push({ port, busPort: await freePort(), folder: own, child: undefined, client });
  }

  /** The masters of slots that were moved. */
  const moved = new Map<number, number>();

  async function spawnMaster(master: Master): Promise<void> {
    const settings = {
      ...{ bind: '127.0.0.1', port: String(master.port), save: '', appendonly: 'no', dir: master.folder },
      ...{ 'cluster-enabled': 'yes', 'cluster-port': String(master.busPort), 'cluster-node-timeout': '1000' },
      'cluster-require-full-coverage': 'no',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    master.child = spawn(path, args, { stdio: 'ignore' });
    await master.client.ping();
  }

  /** Resolves when each master takes all slots for served. */
  async function agree(): Promise<void> {
    for (const { client } of all) {
      while (!/cluster_state:ok[^]*cluster_slots_ok:16384/.test(String(await client.cluster('INFO')))) await pause(20);
    }
  }

  async function holder(key: string): Promise<{ readonly slot: number; readonly master: number }> {
    const slot = Number(await all[0]!.client.cluster('KEYSLOT', key));
    const first = all.findIndex((_, index) => slot >= bound(index) && slot < bound(index + 1));
    return { slot, master: moved.get(slot) ?? first };
  }

  async function kill(master: Master): Promise<void> {
    const { child } = master;
    master.child = undefined;
    if (child === undefined) return;
    const gone = once(child, 'exit');
    // Also of one that stands still.
    child.kill('SIGKILL');
    await gone;
  }

  await Promise.all(all.map(spawnMaster));
  for (const [index, { client, port, busPort }] of all.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', bound(index), bound(index + 1) - 1);
    if (index > 0) await all[0]!.client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  }
  await agree();
  return {
    url: all.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
    masterOf: async (key) => (await holder(key)).master,
    kill: (master) => kill(all[master]!),
    start: async (master) => {
      if (all[master]!.child !== undefined) return;
      await spawnMaster(all[master]!);
      await agree();
    },
    freeze: (master) => void all[master]!.child?.kill('SIGSTOP'),
    thaw: (master) => void all[master]!.child?.kill('SIGCONT'),
    ask: async (key, question) => question(all[(await holder(key)).master]!.client),
    moveSlotOf: async (key) => {
      const { slot, master } = await holder(key);
      const next = (master + 1) % masters;
      const [from, to] = [all[master]!, all[next]!];
      const [fromId, toId] = await Promise.all([from, to].map(({ client }) => client.call('CLUSTER', 'MYID')));
      await to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId));
      await from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId));
      const keys = (await from.client.call('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as readonly string[];
      if (keys.length > 0) {
        await from.client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
      }
      return {
        end: async () => {
          await to.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(toId));
          await from.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(toId));
          moved.set(slot, next);
        },
      };
    },
    close: async () => {
      for (const { client } of all) client.disconnect();
      await Promise.all(all.map(kill));
      rmSync(folder, { recursive: true });
    },
  };
}
