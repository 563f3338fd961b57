import type { V1Lease } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { microTime, watchRenewals } from './leases.ts';

const leaseRenewedAt = (at: number): V1Lease => ({
  metadata: { name: 'weir-controller' },
  spec: { holderIdentity: 'other', renewTime: microTime(at) },
});

it('a lease is silent from when its renewal was first seen, whatever the wall clocks say', () => {
  const clock = createFakeClock();
  const { silentMs } = watchRenewals(clock);
  // The other machine's clock is an hour ahead, and then set back.
  expect(silentMs(leaseRenewedAt(clock.now() + 3_600_000), clock.elapsed())).toBe(0);
  clock.advance(2_000);
  expect(silentMs(leaseRenewedAt(clock.now() + 3_598_000), clock.elapsed())).toBe(2_000);
  clock.advance(2_000);
  expect(silentMs(leaseRenewedAt(clock.now()), clock.elapsed())).toBe(0);
});

it('the time that an answer took does not count as silence: the lease may have been renewed since', () => {
  const clock = createFakeClock();
  const { silentMs } = watchRenewals(clock);
  const lease = leaseRenewedAt(clock.now());
  silentMs(lease, clock.elapsed());
  clock.advance(2_000);
  const askedAt = clock.elapsed();
  clock.advance(3_600_000);
  expect(silentMs(lease, askedAt)).toBe(2_000);
});

it.each([0, 1, 5_000, 3_600_000])(
  'a lease that is seen first in an answer of %i ms is silent from the answer on',
  (tookMs) => {
    const clock = createFakeClock();
    const { silentMs } = watchRenewals(clock);
    const lease = leaseRenewedAt(clock.now());
    const askedAt = clock.elapsed();
    clock.advance(tookMs);
    expect(silentMs(lease, askedAt)).toBe(0);
    clock.advance(2_000);
    expect(silentMs(lease, clock.elapsed())).toBe(2_000);
  },
);
