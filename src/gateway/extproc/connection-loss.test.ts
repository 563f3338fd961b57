// @suite apart
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { ConnectionLoss } from './connection-loss.ts';

describe.each([
  ['caller-left', 100],
  ['failed', 25],
] as const)('a call of which %s is seen', (seen, timeoutMs) => {
  it('was lost when its connection goes within a moment, and leaves no timer', async () => {
    const clock = createFakeClock();
    const loss = new ConnectionLoss(clock);
    const asked = [loss.settled(seen), loss.settled(seen)];
    clock.advance(timeoutMs - 1);
    loss.happened();
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(clock.armed()).toBe(0);
    expect(await loss.settled(seen)).toBe(true);
  });

  it('was not lost when its connection stays', async () => {
    const clock = createFakeClock();
    const loss = new ConnectionLoss(clock);
    const asked = loss.settled(seen);
    clock.advance(timeoutMs);
    expect(await asked).toBe(false);
    expect(clock.armed()).toBe(0);
  });

  it('was lost when this process was held up, and reads of the loss only then', async () => {
    const clock = createFakeClock();
    const loss = new ConnectionLoss(clock);
    const asked = loss.settled(seen);
    await clock.holdUp(timeoutMs, () => loss.happened());
    expect(await asked).toBe(true);
    expect(clock.armed()).toBe(0);
  });
});
