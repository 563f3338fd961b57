import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createKeyBlocks } from '../../src/gateway/admission/key-blocks.ts';
import { shareBlocks, shareKeyBlocks } from '../../src/gateway/rate-limits/shared-blocks.ts';
import { systemClock } from '../../src/process/clock.ts';
import {
  blockMs,
  createAddressGate,
  type OpenAddressGate,
  tolerated,
  windowMs,
} from '../../src/gateway/admission/address-gate.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startValkey } from '../support/valkey.ts';
import { forFile } from '../support/for-file.ts';

let replicas: Replica[] = [];

const valkey = await forFile(startValkey());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
});

/** The gate of one replica, as `weir serve` puts it together. */
async function startGate(): Promise<OpenAddressGate> {
  const replica = startReplica(valkey.url);
  replicas.push(replica);
  let tellOthers = (_: string): void => undefined;
  const gate = createAddressGate({ clock: systemClock, onFailure: (network) => tellOthers(network) });
  tellOthers = shareBlocks({ link: replica.limits.common, tolerated, windowMs, blockMs, block: gate.block });
  await replica.up();
  return gate;
}

/** Closes connections of this name, as a proxy or a firewall between them does. */
async function closeConnections(name: string): Promise<void> {
  await valkey.ask(async (client) => {
    const lines = String(await client.client('LIST')).split('\n');
    for (const line of lines.filter((each) => each.includes(` name=${name} `)))
      await client.client('KILL', 'ID', /^id=(\d+)/.exec(line)?.[1] ?? '');
  });
}

describe('failed authentication over several replicas', () => {
  it('is counted together, and 31 failures block the address on each of them', async () => {
    const gates = [await startGate(), await startGate(), await startGate()];
    const address = '2001:db8:0:1::7';
    for (let count = 0; count < 30; count += 1) gates[count % 3]?.failed(address);
    await expect.poll(async () => (await valkey.ask((client) => client.pubsub('NUMSUB', 'weir:blocked')))[1]).toBe(3);
    expect(gates.map((gate) => gate.blockedMs(address))).toEqual([0, 0, 0]);
    gates[0]?.failed(address);
    await expect
      .poll(() => gates.map((gate) => gate.blockedMs('2001:db8:0:1::8') > 20_000))
      .toEqual([true, true, true]);
    expect(gates.map((gate) => gate.blockedMs('2001:db8:0:2::7'))).toEqual([0, 0, 0]);
  });

  it('is known to a replica that comes later, and to one that was away, for as long as the block still lasts', async () => {
    const first = await startGate();
    const asleep = await startGate();
    await valkey.ask((client) => client.client('KILL', 'TYPE', 'PUBSUB'));
    for (let count = 0; count < 31; count += 1) first.failed('198.51.100.9');
    await expect.poll(() => first.blockedMs('198.51.100.9')).toBeGreaterThan(20_000);
    const late = await startGate();
    await expect.poll(() => late.blockedMs('198.51.100.9')).toBeGreaterThan(10_000);
    await expect.poll(() => asleep.blockedMs('198.51.100.9')).toBeGreaterThan(5_000);
    expect(late.blockedMs('198.51.100.9')).toBeLessThanOrEqual(30_000);
    expect(late.blockedMs('198.51.100.10')).toBe(0);
  });

  it('is told to a replica without a right to the channel, also after its connection broke', async () => {
    await valkey.ask((client) => client.call('ACL', 'SETUSER', 'default', 'resetchannels'));
    onTestFinished(() =>
      valkey.ask(async (client) => void (await client.call('ACL', 'SETUSER', 'default', 'allchannels'))),
    );
    const [first, second] = [await startGate(), await startGate()];
    const failAt = (address: string) => {
      for (let count = 0; count < 31; count += 1) first.failed(address);
    };
    failAt('198.51.100.11');
    await expect.poll(() => second.blockedMs('198.51.100.11')).toBeGreaterThan(0);
    await closeConnections('weir');
    await Promise.all(replicas.map((replica) => replica.down()));
    await Promise.all(replicas.map((replica) => replica.up()));
    failAt('198.51.100.12');
    await expect.poll(() => second.blockedMs('198.51.100.12')).toBeGreaterThan(0);
  });

  it('is read by a replica that was away with one connection only', async () => {
    const gates = [await startGate(), await startGate()];
    await expect.poll(async () => (await valkey.ask((client) => client.pubsub('NUMSUB', 'weir:blocked')))[1]).toBe(2);
    const until = await valkey.ask((client) => client.time());
    await valkey.ask((client) =>
      client.zadd('weir:blocked-until', (Number(until[0]) - 1_700_000_000) * 1000 + 20_000, '198.51.100.13'),
    );
    expect(gates.map((gate) => gate.blockedMs('198.51.100.13'))).toEqual([0, 0]);
    await closeConnections('weir');
    await expect.poll(() => gates.map((gate) => gate.blockedMs('198.51.100.13') > 0)).toEqual([true, true]);
  });

  it('is counted by each replica for itself while the server is away', async () => {
    const gate = await startGate();
    await valkey.kill();
    await replicas[0]?.down();
    for (let count = 0; count < 31; count += 1) gate.failed('203.0.113.7');
    expect(gate.blockedMs('203.0.113.7')).toBeGreaterThan(29_000);
    await valkey.start();
  });

  it('makes no names of what is no address', async () => {
    const gate = await startGate();
    for (const text of ['', 'x\r\nFLUSHALL', 'a'.repeat(1000), '127.0.0.1']) gate.failed(text);
    await expect.poll(() => valkey.ask((client) => client.keys('weir:failed:*'))).toEqual(['weir:failed:127.0.0.1']);
  });
});

describe('a key that is stopped while the database is down', () => {
  const secret = (): string => 'the secret of the database';

  async function startBlocks() {
    const replica = startReplica(valkey.url);
    replicas.push(replica);
    const blocks = createKeyBlocks({ clock: systemClock, secret, isDatabaseUp: () => false });
    onTestFinished(shareKeyBlocks({ link: replica.limits.common, clock: systemClock, blocks }));
    await replica.up();
    return blocks;
  }

  it('is stopped on all replicas, and on one that comes later', async () => {
    const [one, other] = [await startBlocks(), await startBlocks()];
    one.add({ keyId: 'key_a', status: 'suspended', at: 1 });
    await expect.poll(() => other.statusOf('key_a')).toBe('suspended');
    other.add({ keyId: 'key_a', status: 'active', at: 2 });
    await expect.poll(() => one.statusOf('key_a')).toBe('active');
    const later = await startBlocks();
    await expect.poll(() => later.statusOf('key_a')).toBe('active');
  });
});
