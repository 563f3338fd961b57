import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { every } from './clock.ts';

describe('every', () => {
  it('runs a step after each interval, until it is ended', () => {
    const clock = createFakeClock();
    const at: number[] = [];
    const end = every(clock, 10, () => void at.push(clock.elapsed()));
    clock.advance(35);
    end();
    clock.advance(100);
    expect(at).toEqual([10, 20, 30]);
    expect(clock.armed()).toBe(0);
  });

  it('waits for the step before, and for the interval after it', async () => {
    const clock = createFakeClock();
    const steps: PromiseWithResolvers<void>[] = [];
    every(clock, 10, () => {
      const step = Promise.withResolvers<void>();
      steps.push(step);
      return step.promise;
    });
    clock.advance(50);
    expect(steps).toHaveLength(1);
    steps[0]?.resolve();
    await expect.poll(() => clock.armed()).toBe(1);
    clock.advance(9);
    expect(steps).toHaveLength(1);
    clock.advance(1);
    expect(steps).toHaveLength(2);
  });

  it('can be ended by its own step, and while one is under way', async () => {
    const clock = createFakeClock();
    const end = every(clock, 10, () => end());
    clock.advance(10);
    expect(clock.armed()).toBe(0);
    const step = Promise.withResolvers<void>();
    const endSlow = every(clock, 10, () => step.promise);
    clock.advance(10);
    endSlow();
    step.resolve();
    await step.promise;
    await Promise.resolve();
    expect(clock.armed()).toBe(0);
  });

  it('goes on after a step that throws, whose error reaches the process', () => {
    const clock = createFakeClock();
    let steps = 0;
    every(clock, 10, () => {
      steps += 1;
      if (steps === 1) throw new Error('no files left');
    });
    expect(() => clock.advance(10)).toThrow('no files left');
    clock.advance(10);
    expect(steps).toBe(2);
  });
});
