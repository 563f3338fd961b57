import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../test/support/chance.ts';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createAvailability, servedOf } from './availability.ts';
import { thresholds } from './thresholds.ts';

const windowMs = 900_000;
const sliceMs = windowMs / thresholds.availabilitySlices;
/** The beginning of a slice. */
const start = 1_780_200_000_000;

function begin(minimum?: number) {
  const clock = createFakeClock(start);
  const availability = createAvailability({ clock, windowSeconds: windowMs / 1000 });
  const record = (served: number, not = 0): void => {
    for (let count = 0; count < served + not; count += 1) {
      availability.record(count < served);
      availability.against(minimum);
    }
  };
  return {
    clock,
    availability,
    record,
    meets: () => availability.against(minimum).isMet,
    share: () => availability.against(minimum).share,
  };
}

describe('availability', () => {
  it('is the share of requests served, and unknown below twenty', () => {
    const { record, share } = begin();
    record(19);
    expect(share()).toBeUndefined();
    record(0, 1);
    expect(share()).toBe(0.95);
  });

  it('forgets what the window has turned past', () => {
    const { clock, record, share } = begin();
    record(0, 100);
    clock.advance(sliceMs);
    record(100);
    clock.advance(windowMs - sliceMs - 1);
    expect(share()).toBe(0.5);
    clock.advance(1);
    expect(share()).toBe(1);
    clock.advance(sliceMs);
    expect(share()).toBeUndefined();
  });

  it('of two replicas is that of one that saw everything', () => {
    const chance = chanceFrom(5);
    const clock = createFakeClock(start);
    const [all, ...replicas] = [1, 2, 3].map(() => createAvailability({ clock, windowSeconds: 600 }));
    for (let count = 0; count < 3000; count += 1) {
      const isServed = chance.is(0.9);
      all?.record(isServed);
      chance.pick(replicas).record(isServed);
      clock.advance(chance.below(2000));
    }
    const seen = servedOf(all?.slices() ?? []);
    expect(servedOf(replicas.flatMap((replica) => replica.slices()))).toEqual(seen);
    expect(seen.total).toBeGreaterThan(400);
  });
});

describe('a service level', () => {
  it.each([
    [0.95, 19, 1, true],
    [0.95, 18, 2, false],
    [0.99, 99, 1, true],
    [0.99, 98, 1, false],
    [1, 1000, 0, true],
    [1, 1000, 1, false],
    [0, 0, 1000, true],
    [0.95, 0, 19, true],
    [0.95, 0, 20, false],
  ])('of %d with %d served and %d not: %j', (minimum, served, not, isMet) => {
    const { availability, record } = begin();
    record(served, not);
    expect(availability.against(minimum).isMet).toBe(isMet);
  });

  it('that there is not is always met', () => {
    const { record, meets } = begin();
    record(0, 1000);
    expect(meets()).toBe(true);
  });

  it('is met again only with half of the failures it allows, not as soon as it is at its minimum', () => {
    const { record, meets } = begin(0.9);
    record(18, 3);
    expect(meets()).toBe(false);
    record(9);
    expect(meets()).toBe(false);
    record(29);
    expect(meets()).toBe(false);
    record(2);
    expect(meets()).toBe(true);
  });

  it('is met again after a whole window that was never below it', () => {
    const { clock, record, meets } = begin(0.9);
    // 92 of 100 all the time: never half of what is allowed.
    record(9, 11);
    const goOn = (): void => {
      clock.advance(sliceMs);
      record(92, 8);
    };
    let slices = 0;
    for (; !meets() && slices < 1000; slices += 1) goOn();
    expect(slices).toBeGreaterThanOrEqual(thresholds.availabilitySlices);
    expect(slices).toBeLessThan(2 * thresholds.availabilitySlices);
  });

  it('is met again when the window has turned past what was wrong', () => {
    const { clock, record, meets } = begin(1);
    record(0, 20);
    clock.advance(sliceMs);
    record(50);
    clock.advance(windowMs - sliceMs - 1);
    expect(meets()).toBe(false);
    clock.advance(1);
    expect(meets()).toBe(true);
  });

  it('is not met again at the border of what is enough to judge by', () => {
    const { clock, record, meets } = begin(0.99);
    record(0, 10);
    clock.advance(sliceMs);
    record(0, 1);
    clock.advance(sliceMs);
    record(0, 9);
    expect(meets()).toBe(false);
    // 10 are left, then 9.
    clock.advance(windowMs - 2 * sliceMs);
    expect(meets()).toBe(false);
    clock.advance(sliceMs);
    expect(meets()).toBe(true);
  });

  it('at whose edge a model is makes it come or go at most once per window, where judging each moment for itself does hundreds of times', () => {
    const chance = chanceFrom(23);
    const { clock, record, meets, share } = begin(0.95);
    const changes = { calm: 0, plain: 0 };
    let last = { calm: true, plain: true };
    const windows = 20;
    const perWindow = 2000;
    for (let count = 0; count < windows * perWindow; count += 1) {
      const isServed = chance.is(0.95);
      record(isServed ? 1 : 0, isServed ? 0 : 1);
      const now = { calm: meets(), plain: (share() ?? 1) >= 0.95 };
      if (now.calm !== last.calm) changes.calm += 1;
      if (now.plain !== last.plain) changes.plain += 1;
      last = now;
      clock.advance(windowMs / perWindow);
    }
    expect(changes.calm).toBeLessThanOrEqual(windows);
    expect(changes.plain).toBeGreaterThan(10 * windows);
  });
});
