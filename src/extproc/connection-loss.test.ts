import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConnectionLoss } from './connection-loss.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe.each([
  ['caller-left', 100],
  ['failed', 25],
] as const)('a call of which %s is seen', (seen, patienceMs) => {
  it('was lost when its connection goes within a moment, and leaves no timer', async () => {
    const loss = new ConnectionLoss();
    const asked = [loss.settled(seen), loss.settled(seen)];
    vi.advanceTimersByTime(patienceMs - 1);
    loss.happened();
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
    expect(await loss.settled(seen)).toBe(true);
  });

  it('was not lost when its connection stays', async () => {
    const loss = new ConnectionLoss();
    const asked = loss.settled(seen);
    vi.advanceTimersByTime(patienceMs + 1);
    expect(await asked).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
