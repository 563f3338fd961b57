import { describe, expect, it } from 'vitest';
import { createBalance } from './balance.ts';

const second = 1000;

/** Two endpoints over 20 s: the first one works, the second one is idle for this part of the time, and computes so many tokens. */
function unevenShare({ idle, tokens }: { readonly idle: number; readonly tokens: number }): number {
  let now = 0;
  const engines = [{ nextAt: () => now + 1 }, { nextAt: () => ((now / second) % 1 < idle ? Infinity : now + 1) }];
  const balance = createBalance(engines, { fromMs: 0, toMs: 20 * second });
  for (; now < 20 * second; now += 100) {
    balance.look(now, [0, 1]);
    balance.computed(now, 0, 100);
    balance.computed(now, 1, tokens);
  }
  return balance.unevenShare();
}

describe('the balance of a pool', () => {
  it('is lost in a window in which one endpoint does much more than the mean and another one is idle', () => {
    expect(unevenShare({ idle: 0.8, tokens: 20 })).toBe(1);
  });

  it('is kept while all work, or while all do alike', () => {
    expect(unevenShare({ idle: 0, tokens: 20 })).toBe(0);
    expect(unevenShare({ idle: 0.8, tokens: 90 })).toBe(0);
  });

  it('counts only endpoints that are there', () => {
    const balance = createBalance([{ nextAt: () => 1 }, { nextAt: () => Infinity }], { fromMs: 0, toMs: 10 * second });
    for (let now = 0; now < 10 * second; now += 100) {
      balance.look(now, [0]);
      balance.computed(now, 0, 100);
    }
    expect(balance.unevenShare()).toBe(0);
  });
});
