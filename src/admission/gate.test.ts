import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { Failure } from '../core/failure.ts';
import { createAddressGate } from './address-gate.ts';
import { throughGate } from './gate.ts';

const stranger = '203.0.113.7';

function begin() {
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
  it('lets 30 failures pass, and after one more nobody from that address for 30 s, not even with a valid key', async () => {
    const { clock, gate, come, fail } = begin();
    for (let count = 0; count < 30; count += 1) expect(await fail(stranger)).toBe('unauthenticated');
    expect(await come(stranger)).toBe('in');
    expect(await fail(stranger)).toBe('unauthenticated');
    clock.advance(10_500);
    const refused = throughGate(stranger, gate, () => Promise.resolve('in'));
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 20 });
    expect(await come('203.0.113.8')).toBe('in');
    clock.advance(19_499);
    expect(await come(stranger)).toBe('rate_limited');
    clock.advance(1);
    expect(await come(stranger)).toBe('in');
  });

  it('counts only what failed for want of a valid key', async () => {
    const { come, fail } = begin();
    for (let count = 0; count < 100; count += 1) await come(stranger, new Failure('suspended', 'no'));
    for (let count = 0; count < 100; count += 1) await come(stranger, new Error('the store is away'));
    for (let count = 0; count < 30; count += 1) await fail(stranger);
    expect(await come(stranger)).toBe('in');
  });

  it('stays open for whoever has no address', async () => {
    const { come, fail } = begin();
    for (let count = 0; count < 100; count += 1) await fail(undefined);
    expect(await come(undefined)).toBe('in');
  });
});
