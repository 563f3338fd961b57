import type { V1Lease } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Elector, type ElectorOptions, startElector } from './elector.ts';
import { microTime } from './leases.ts';

const clock = createFakeClock();
let elector: Elector | undefined;
/** What the API server holds. */
let held: V1Lease | undefined;
let answerHeldBack: Promise<void> | undefined;
let reads: number;
let writes: (string | undefined)[];

/** A server of one lease. It answers a question with what it holds when it is asked, perhaps much later. */
const leases = {
  readNamespacedLease: async () => {
    const answer = held;
    reads += 1;
    await answerHeldBack;
    if (answer === undefined) throw new Error('no lease');
    return answer;
  },
  replaceNamespacedLease: ({ body }: { readonly body: V1Lease }) => {
    writes.push(body.spec?.holderIdentity);
    held = body;
    return Promise.resolve(body);
  },
} as unknown as ElectorOptions['client']['leases'];

function begin(): Elector {
  reads = 0;
  writes = [];
  elector = startElector({
    ...{ client: { leases }, namespace: 'n', identity: 'own', clock },
    ...{ random: () => 1, onChange: () => undefined, onError: () => undefined },
  });
  return elector;
}

const renewedBy = (holder: string): V1Lease => ({
  metadata: { name: 'weir-controller', resourceVersion: '1' },
  spec: { holderIdentity: holder, leaseDurationSeconds: 10, renewTime: microTime(clock.now()) },
});

/** Waits until the elector pauses, after all that is ready has run. */
async function untilPaused(): Promise<void> {
  await expect.poll(clock.armed).toBe(1);
}

afterEach(async () => {
  answerHeldBack = undefined;
  await elector?.close();
});

describe('a replica that was held up', () => {
  it('does not lead by an answer from before, although the lease looks silent since', async () => {
    held = renewedBy('other');
    begin();
    await untilPaused();
    const answer = Promise.withResolvers<void>();
    answerHeldBack = answer.promise;
    clock.advance(2_500);
    await expect.poll(() => reads).toBe(2);
    // The answer lies in the socket while this process is held up. The other replica goes on renewing.
    clock.advance(60_000);
    answer.resolve();
    held = renewedBy('other');
    await untilPaused();
    expect(writes).toEqual([]);
    clock.advance(2_500);
    await untilPaused();
    expect([writes, elector?.isLeading()]).toEqual([[], false]);
  });

  it('does not lead any more when it led before, until it has renewed its lease', async () => {
    held = renewedBy('');
    const { isLeading } = begin();
    await untilPaused();
    expect([writes, isLeading()]).toEqual([['own'], true]);
    held = renewedBy('other');
    clock.advance(60_000);
    expect(isLeading()).toBe(false);
    await untilPaused();
    expect([writes, isLeading()]).toEqual([['own'], false]);
  });

  it('leads when the other replica has not renewed its lease for ten seconds of asking', async () => {
    held = renewedBy('other');
    const { isLeading } = begin();
    for (let asked = 0; asked < 5; asked += 1) {
      await untilPaused();
      expect(writes).toEqual([]);
      clock.advance(2_500);
    }
    await untilPaused();
    expect([writes, isLeading()]).toEqual([['own'], true]);
  });
});

// A leader gives up seven seconds after its request, whenever the API server answered: other replicas count from their own look
// at the lease.
it.each([
  [4_600, 2_399],
  [5_000, 1_999],
  [6_900, 99],
])('a replica whose renewal is answered after %i ms leads for %i ms more', async (lateMs, leftMs) => {
  held = renewedBy('');
  const answer = Promise.withResolvers<void>();
  answerHeldBack = answer.promise;
  const { isLeading } = begin();
  await expect.poll(() => reads).toBe(1);
  clock.advance(lateMs);
  expect(isLeading()).toBe(false);
  answer.resolve();
  await untilPaused();
  expect([writes, isLeading()]).toEqual([['own'], true]);
  clock.advance(leftMs);
  expect(isLeading()).toBe(true);
  clock.advance(1);
  expect(isLeading()).toBe(false);
});

it.each([
  ['own', ['own', '']],
  ['other', ['own']],
])('a leader that ends releases the lease if it holds it: held by %s', async (holder, released) => {
  held = renewedBy('');
  const { close } = begin();
  await untilPaused();
  held = renewedBy(holder);
  await close();
  expect(writes).toEqual(released);
});
