// @suite apart long
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { keptHeap } from '../../../test/support/kept-heap.ts';
import { type AddressGateOptions, createAddressGate, throughGate } from './address-gate.ts';
import { Failure } from '../../core/failure.ts';

function begin(options: Omit<AddressGateOptions, 'clock'> = {}) {
  const clock = createFakeClock();
  const gate = createAddressGate({ clock, ...options });
  const fail = (address: string, times: number): void => {
    for (let count = 0; count < times; count += 1) gate.failed(address);
  };
  return { clock, gate, fail };
}

const stranger = '198.51.100.1';
/** Ten million different addresses. */
const addressOf = (index: number): string => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
const subscriber = (index: number): string =>
  `2001:db8:${(index >> 16).toString(16)}:${(index & 0xffff).toString(16)}::1`;

describe('the window', () => {
  it('slides: 31 failures within any 30 s block, spread wider they do not', () => {
    const { clock, gate } = begin();
    for (let count = 0; count < 200; count += 1) {
      gate.failed(stranger);
      clock.advance(1001);
    }
    expect(gate.blockedMs(stranger)).toBe(0);
    for (let count = 0; count < 31; count += 1) {
      gate.failed('198.51.100.2');
      clock.advance(999);
    }
    expect(gate.blockedMs('198.51.100.2')).toBeGreaterThan(0);
  });

  it('begins anew after a block', () => {
    const { clock, gate, fail } = begin();
    fail(stranger, 31);
    clock.advance(30_000);
    fail(stranger, 30);
    expect(gate.blockedMs(stranger)).toBe(0);
    fail(stranger, 1);
    expect(gate.blockedMs(stranger)).toBe(30_000);
  });

  it('counts a /64 of IPv6 as one address, and each IPv4 address by itself', () => {
    const { gate } = begin();
    for (let host = 1; host <= 31; host += 1) gate.failed(`2001:db8:0:1::${host.toString(16)}`);
    expect(gate.blockedMs('2001:db8:0:1:ffff::')).toBe(30_000);
    expect(gate.blockedMs('2001:db8:0:2::1')).toBe(0);
    for (let host = 1; host <= 31; host += 1) gate.failed(`203.0.113.${host}`);
    expect(gate.blockedMs('203.0.113.1')).toBe(0);
  });
});

describe('a flood of addresses', () => {
  it('takes no more memory than the bound, with a million of them', () => {
    const empty = keptHeap();
    const { gate } = begin();
    for (let index = 0; index < 100_000; index += 1) gate.failed(subscriber(index));
    const before = keptHeap();
    // 32,768 networks of about 300 bytes.
    expect(before - empty).toBeLessThan(14_000_000);
    for (let index = 0; index < 1_000_000; index += 1) gate.failed(subscriber(index));
    expect(gate.failing()).toBeLessThanOrEqual(32_768);
    expect(keptHeap() - before).toBeLessThan(2_000_000);
  }, 120_000);

  it('does not make the gate forget an address that has failed more often', () => {
    const { gate, fail } = begin({ maxFailing: 100 });
    fail(stranger, 30);
    for (let index = 0; index < 10_000; index += 1) gate.failed(addressOf(index));
    fail(stranger, 1);
    expect(gate.blockedMs(stranger)).toBe(30_000);
  });

  it('does not push out a block', () => {
    const { gate, fail } = begin({ maxFailing: 100, maxBlocked: 10 });
    fail(stranger, 31);
    for (let index = 0; index < 1_000; index += 1) fail(addressOf(index), 31);
    expect(gate.blocked()).toBe(10);
    expect(gate.blockedMs(stranger)).toBe(30_000);
  });

  it('blocks those for whom there was no room with their next failure, once there is', () => {
    const { clock, gate, fail } = begin({ maxBlocked: 1 });
    fail(stranger, 31);
    clock.advance(20_000);
    fail('198.51.100.2', 40);
    expect(gate.blockedMs('198.51.100.2')).toBe(0);
    clock.advance(10_000);
    fail('198.51.100.2', 1);
    expect(gate.blockedMs('198.51.100.2')).toBe(30_000);
  });

  it('leaves room for the next one when it is over', () => {
    const { clock, gate, fail } = begin({ maxFailing: 100 });
    for (let index = 0; index < 100; index += 1) fail(addressOf(index), 20);
    clock.advance(31_000);
    for (let count = 0; count < 30; count += 1) {
      fail(stranger, 1);
      fail('198.51.100.2', 1);
    }
    fail(stranger, 1);
    expect(gate.blockedMs(stranger)).toBe(30_000);
  });
});

describe('replicas that count together', () => {
  it('are notified of each failure, by network', () => {
    const told: string[] = [];
    const { gate } = begin({ onFailure: (network) => told.push(network) });
    gate.failed('2001:db8:0:1::7');
    gate.failed(stranger);
    expect(told).toEqual(['2001:db8:0:1::/64', stranger]);
  });

  it('are not notified of each address in a flood', () => {
    const told = new Set<string>();
    const { gate } = begin({ maxFailing: 100, onFailure: (network) => told.add(network) });
    for (let index = 0; index < 10_000; index += 1) gate.failed(addressOf(index));
    expect(told.size).toBeLessThan(1_000);
    gate.failed(addressOf(9_999));
    expect(told).toContain(addressOf(9_999));
  });

  it('block on the word of another', () => {
    const { clock, gate } = begin();
    gate.block(stranger, 12_000);
    expect(gate.blockedMs(stranger)).toBe(12_000);
    clock.advance(12_000);
    expect(gate.blockedMs(stranger)).toBe(0);
  });
});

const blocked = '203.0.113.7';

function beginRequests() {
  const clock = createFakeClock();
  const gate = createAddressGate({ clock });
  const come = (address: string | undefined, error?: unknown): Promise<unknown> =>
    throughGate(address, gate, () => (error === undefined ? Promise.resolve('in') : Promise.reject(error))).catch(
      (refused: unknown) => (refused instanceof Failure ? refused.code : 'crash'),
    );
  const fail = (address: string | undefined): Promise<unknown> => come(address, new Failure('unauthenticated', 'no'));
  return { clock, gate, come, fail };
}

describe('the gate of failed authentication (docs/reference/api.md §5, rule 5)', () => {
  it('lets 30 failures pass, and after one more no request from that address for 30 s, not even with a valid key', async () => {
    const { clock, gate, come, fail } = beginRequests();
    for (let count = 0; count < 30; count += 1) expect(await fail(blocked)).toBe('unauthenticated');
    expect(await come(blocked)).toBe('in');
    expect(await fail(blocked)).toBe('unauthenticated');
    clock.advance(10_500);
    const refused = throughGate(blocked, gate, () => Promise.resolve('in'));
    await expect(refused).rejects.toMatchObject({
      ...{ code: 'rate_limited', retryAfterSeconds: 20, limit: 'address-blocked' },
      message: 'Too many requests without a valid API key came from this address.',
    });
    expect(await come('203.0.113.8')).toBe('in');
    clock.advance(19_499);
    expect(await come(blocked)).toBe('rate_limited');
    clock.advance(1);
    expect(await come(blocked)).toBe('in');
  });

  it('counts only what failed for want of a valid key', async () => {
    const { come, fail } = beginRequests();
    for (let count = 0; count < 100; count += 1) await come(blocked, new Failure('suspended', 'no'));
    for (let count = 0; count < 100; count += 1) await come(blocked, new Error('the store is away'));
    for (let count = 0; count < 30; count += 1) await fail(blocked);
    expect(await come(blocked)).toBe('in');
  });

  it('stays open for a caller without an address', async () => {
    const { come, fail } = beginRequests();
    for (let count = 0; count < 100; count += 1) await fail(undefined);
    expect(await come(undefined)).toBe('in');
  });
});
