// @suite apart
import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { collectGarbage } from '../../../test/support/kept-heap.ts';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import type { Model } from '../../core/catalog.ts';
import { createAvailability, createModelPerformance } from './model-performance.ts';
import { thresholds } from './thresholds.ts';
import { chanceFrom } from '../../../test/support/chance.ts';

const start = 1_780_200_000_000;
const output = { tokens: 101, tokensAtFirst: 1, firstMs: 250, lastMs: 2250 };
const level = { minAvailability: 0.95, windowSeconds: 600 };
const tiny = modelOf([routeOf('a')], { serviceLevel: level });

const byId = (...models: readonly Model[]) => new Map(models.map((model) => [model.id, model]));

function begin(model = tiny) {
  const clock = createFakeClock(start);
  const routes = { areIn: true };
  const performance = createModelPerformance({ clock, hasRoute: () => routes.areIn, isReachable: () => true });
  performance.retain(byId(model));
  const end = (count: number, changes: Partial<Outcome> = {}): void => {
    const outcome = sampleOutcome({ modelId: model.id, output, ...changes });
    for (let index = 0; index < count; index += 1) performance.outcome(outcome);
  };
  return { clock, performance, routes, end, status: () => performance.statusOf(model) };
}

describe('the status of a model', () => {
  it('is listed and without figures before anything was measured', () => {
    expect(begin().status()).toEqual({ listed: true });
  });

  it('has what was measured', () => {
    const { end, status } = begin();
    end(25);
    expect(status()).toEqual({
      listed: true,
      availability: 1,
      figure: {
        tokensPerSecondP50: expect.closeTo(50, -0.5) as number,
        firstTokenMsP50: expect.closeTo(250, -1.2) as number,
        asOf: start / 1000,
      },
    });
  });

  it('is not listed while no route is in, whatever was measured', () => {
    const { end, routes, status } = begin();
    routes.areIn = false;
    expect(status()).toEqual({ listed: false });
    end(25);
    expect(status()).toMatchObject({ listed: false, availability: 1 });
    routes.areIn = true;
    expect(status()).toMatchObject({ listed: true });
  });

  it('is not listed while none of its routes accepts requests, however long nobody asks for it', () => {
    const { clock, end, routes, status } = begin();
    routes.areIn = false;
    end(1, { kind: 'failed' });
    clock.advance(24 * 3_600_000);
    expect(status().listed).toBe(false);
    routes.areIn = true;
    expect(status().listed).toBe(true);
  });

  it('is not listed below its service level, and listed again when the window has turned', () => {
    const { clock, end, status } = begin();
    end(18);
    end(2, { kind: 'failed' });
    expect(status()).toMatchObject({ listed: false, availability: 0.9 });
    clock.advance(level.windowSeconds * 1000);
    expect(status()).toMatchObject({ listed: true });
    expect(status().availability).toBeUndefined();
  });

  it('without a service level is never judged by availability, which operators still see', () => {
    const { serviceLevel: _, ...plain } = tiny;
    const { end, status } = begin(plain);
    end(100, { kind: 'failed' });
    expect(status()).toEqual({ listed: true, availability: 0 });
  });

  it('remembers that it was below its level though nobody asked at the time', () => {
    const { clock, end, status } = begin();
    end(30, { kind: 'interrupted' });
    clock.advance(level.windowSeconds * 500);
    end(270 * 2);
    // At its minimum now, but not yet well above it.
    expect(status()).toMatchObject({ listed: false, availability: expect.closeTo(0.947, 3) as number });
    end(60);
    expect(status()).toMatchObject({ listed: false, availability: expect.closeTo(0.952, 3) as number });
  });
});

describe('availability', () => {
  const served: Partial<Outcome>[] = [
    { kind: 'completed' },
    { kind: 'cancelled', firstTokenMs: 10 },
    { kind: 'service-lost', firstTokenMs: 10 },
  ];
  it.each(served)('counts a request that ended like %o as served', (changes) => {
    const { end, status } = begin();
    end(20, changes);
    expect(status().availability).toBe(1);
  });

  const not: Partial<Outcome>[] = [
    { kind: 'failed' },
    { kind: 'failed', refusedFor: 'overloaded' },
    { kind: 'failed', refusedFor: 'not-found' },
    { kind: 'interrupted' },
    { kind: 'incomplete' },
  ];
  it.each(not)('counts a request that ended like %o as not served', (changes) => {
    const { end, status } = begin();
    end(20, changes);
    expect(status().availability).toBe(0);
  });

  it('counts a refusal for want of capacity as not served', () => {
    const { performance, end, status } = begin();
    end(15);
    for (let count = 0; count < 5; count += 1) performance.unavailable(tiny.id);
    expect(status()).toMatchObject({ listed: false, availability: 0.75 });
  });

  it('counts neither a prompt that was too long, or failed before, nor a caller who left before the first output', () => {
    const { performance, status } = begin();
    const { firstTokenMs: _, ...unheard } = sampleOutcome({ modelId: tiny.id, kind: 'cancelled' });
    for (let count = 0; count < 100; count += 1) {
      performance.outcome(unheard);
      performance.outcome({ ...unheard, kind: 'service-lost' });
      performance.outcome(sampleOutcome({ modelId: tiny.id, kind: 'failed', refusedFor: 'context-length' }));
      const keyId = `key_${count % 2}`;
      performance.outcome(sampleOutcome({ modelId: tiny.id, keyId, kind: 'failed', refusedFor: 'repeated-failure' }));
    }
    expect(status()).toEqual({ listed: true });
  });
});

describe('a failure that may be the request’s own fault', () => {
  const reasons = ['bad-request', 'structure', 'disputed'] as const;

  it.each(reasons)('(%s) does not count while one caller alone has it', (refusedFor) => {
    const { end, status } = begin();
    end(20, { keyId: 'key_other' });
    end(200, { keyId: 'key_one', kind: 'failed', refusedFor });
    expect(status()).toMatchObject({ listed: true, availability: 1 });
  });

  it.each(reasons)('(%s) counts once another caller’s requests mostly fail, too', (refusedFor) => {
    const { end, status } = begin();
    end(20, { keyId: 'key_third' });
    end(3, { keyId: 'key_other', kind: 'failed', refusedFor });
    end(20, { keyId: 'key_one', kind: 'failed', refusedFor });
    expect(status()).toMatchObject({ listed: false, availability: 0.5 });
  });
});

describe('a change of the catalog', () => {
  it('forgets models that are gone, and takes nothing of them that ends later', () => {
    const { performance, end, status } = begin();
    end(50, { kind: 'failed' });
    performance.retain(byId());
    end(50, { kind: 'failed' });
    performance.unavailable(tiny.id);
    performance.retain(byId(tiny));
    expect(status()).toEqual({ listed: true });
  });

  it('keeps what was measured of the others, and judges by a minimum that changed', () => {
    const { performance, end, status } = begin();
    end(90);
    end(10, { kind: 'failed' });
    expect(status().listed).toBe(false);
    const lenient = { ...tiny, serviceLevel: { ...level, minAvailability: 0.5 } };
    performance.retain(byId(lenient));
    expect(performance.statusOf(lenient)).toMatchObject({ listed: true, availability: 0.9 });
    expect(performance.statusOf(lenient).figure).toBeDefined();
  });

  it('begins the count of availability anew where its window changed, and keeps the figure', () => {
    const { performance, end } = begin();
    end(100, { kind: 'failed' });
    end(10);
    const longer = { ...tiny, serviceLevel: { ...level, windowSeconds: 1200 } };
    performance.retain(byId(longer));
    expect(performance.statusOf(longer)).toEqual({ listed: true, figure: expect.any(Object) as object });
  });
});

describe('two thousand models', () => {
  const heldMegabytes = (): number => {
    collectGarbage();
    collectGarbage();
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    return (heap + external) / 2 ** 20;
  };

  it('that are all busy for hours take less than 64 MB, and no more the longer it goes on', () => {
    const clock = createFakeClock(start);
    const performance = createModelPerformance({ clock, hasRoute: () => true, isReachable: () => true });
    const serviceLevel = { ...level, windowSeconds: thresholds.windowMs / 1000 };
    const models = Array.from({ length: 2000 }, (_, index) => ({ ...tiny, serviceLevel, id: `demo/tiny-${index}` }));
    const before = heldMegabytes();
    performance.retain(byId(...models));
    const goOn = (windows: number): void => {
      const slices = windows * thresholds.availabilitySlices;
      for (let slice = 0; slice < slices; slice += 1) {
        for (const { id: modelId } of models) {
          const stream = slice % 3 > 0;
          performance.outcome(
            sampleOutcome({ modelId, output, stream, countedBy: slice % 3 === 2 ? 'estimate' : 'engine' }),
          );
        }
        clock.advance(thresholds.windowMs / thresholds.availabilitySlices);
      }
    };
    goOn(2);
    const held = heldMegabytes() - before;
    expect(held).toBeGreaterThan(5);
    expect(held).toBeLessThan(64);
    goOn(3);
    expect(heldMegabytes() - before).toBeLessThan(held * 1.1 + 2);
    expect(performance.statusOf(models[0] ?? tiny)).toMatchObject({
      availability: 1,
      figure: expect.any(Object) as object,
    });
    performance.retain(byId());
    expect(heldMegabytes() - before).toBeLessThan(held / 4);
  });
});

const windowMs = 900_000;
const sliceMs = windowMs / thresholds.availabilitySlices;
/** The beginning of a slice. */
function beginCount(minimum?: number) {
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
    const { record, share } = beginCount();
    record(19);
    expect(share()).toBeUndefined();
    record(0, 1);
    expect(share()).toBe(0.95);
  });

  it('forgets what the window has turned past', () => {
    const { clock, record, share } = beginCount();
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
    const { availability, record } = beginCount();
    record(served, not);
    expect(availability.against(minimum).isMet).toBe(isMet);
  });

  it('that there is not is always met', () => {
    const { record, meets } = beginCount();
    record(0, 1000);
    expect(meets()).toBe(true);
  });

  it('is met again only with half of the failures it allows, not as soon as it is at its minimum', () => {
    const { record, meets } = beginCount(0.9);
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
    const { clock, record, meets } = beginCount(0.9);
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
    const { clock, record, meets } = beginCount(1);
    record(0, 20);
    clock.advance(sliceMs);
    record(50);
    clock.advance(windowMs - sliceMs - 1);
    expect(meets()).toBe(false);
    clock.advance(1);
    expect(meets()).toBe(true);
  });

  it('is not met again at the border of what is enough to judge by', () => {
    const { clock, record, meets } = beginCount(0.99);
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
    const { clock, record, meets, share } = beginCount(0.95);
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
