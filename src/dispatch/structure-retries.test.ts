import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createStructureRetries } from './structure-retries.ts';

function begin() {
  const clock = createFakeClock();
  const retries = createStructureRetries({ clock });
  /** How many retries a caller has, all of which it takes. */
  const left = (caller: string): number => {
    let count = 0;
    while (retries.spend(caller)) count += 1;
    return count;
  };
  return { clock, retries, left };
}

describe('retries of answers that miss their structure', () => {
  it('are ten, for each caller', () => {
    const { left } = begin();
    expect([left('one'), left('one'), left('two')]).toEqual([10, 0, 10]);
  });

  it('come back one a minute, up to ten', () => {
    const { clock, left } = begin();
    left('one');
    clock.advance(59_999);
    expect(left('one')).toBe(0);
    clock.advance(1);
    expect(left('one')).toBe(1);
    clock.advance(86_400_000);
    expect(left('one')).toBe(10);
  });

  it('are earned by sound answers, one by two', () => {
    const { retries, left } = begin();
    left('one');
    for (let answer = 0; answer < 5; answer += 1) retries.earn('one');
    retries.earn('two');
    expect([left('one'), left('two')]).toEqual([2, 10]);
    for (let answer = 0; answer < 100; answer += 1) retries.earn('one');
    expect(left('one')).toBe(10);
  });

  it('are forgotten of the caller that was not seen for longest when there are too many', () => {
    const { retries, left } = begin();
    left('one');
    left('two');
    for (let other = 0; other < 9999; other += 1) retries.spend(`caller ${other}`);
    expect([left('two'), left('one')]).toEqual([0, 10]);
  });
});
