import { beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { createShedWatch, type ShedWatch } from './shed-watch.ts';

let clock: FakeClock;
let share: number;
let watch: ShedWatch;

beforeEach(() => {
  clock = createFakeClock();
  share = 0;
  watch = createShedWatch({ clock, shedShare: () => share });
});

function pass(ms: number, shedShare: number): boolean {
  share = shedShare;
  clock.advance(ms);
  return watch.isSheddingAll();
}

describe('the watch over shedding', () => {
  it('tells when nearly every request has been shed for 5 s, and recovers by itself', () => {
    expect(pass(60_000, 0)).toBe(false);
    expect(pass(5_000, 0.96)).toBe(false);
    expect(pass(500, 1)).toBe(true);
    expect(pass(500, 0.49)).toBe(false);
  });

  it('tells nothing of a rush that is shorter, nor of one that lets some pass', () => {
    for (let rush = 0; rush < 10; rush += 1) {
      expect(pass(4_500, 1)).toBe(false);
      expect(pass(500, 0.9)).toBe(false);
    }
    expect(pass(60_000, 0.9)).toBe(false);
  });

  it('does not recover for a share that is hardly less', () => {
    expect(pass(6_000, 1)).toBe(true);
    expect(pass(60_000, 0.6)).toBe(true);
    expect(pass(500, 0)).toBe(false);
  });

  it('stops when it is closed', () => {
    watch.close();
    expect(clock.armed()).toBe(0);
  });
});
