import { describe, expect, it } from 'vitest';
import { createSpeed } from './speed.ts';

const assumed = { samples: 2, amount: 4000, eachMs: 0.1, minMs: 30, spread: 0.5 };

describe('a speed', () => {
  it('is the assumed one before anything is measured', () => {
    const speed = createSpeed(assumed);
    expect(speed.msFor(4000)).toBeCloseTo(430);
    expect(speed.eachMs()).toBeCloseTo(0.1);
    expect(speed.spread()).toBeCloseTo(0.5);
  });

  it.each([
    ['three times as slow', 0.3, 50],
    ['twenty times as slow', 2, 100],
    ['ten times as fast', 0.01, 5],
  ])('is learned within a hundred samples: %s', (_, eachMs, minMs) => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 100; sample += 1) {
      const amount = 200 + ((sample * 977) % 8000);
      speed.measured(amount, minMs + amount * eachMs);
    }
    for (const amount of [2000, 4000, 8000]) {
      const ratio = speed.msFor(amount) / (minMs + amount * eachMs);
      expect(ratio).toBeGreaterThan(0.6);
      expect(ratio).toBeLessThan(1.6);
    }
  });

  it('is learned from a few prompts that are much shorter than the assumed ones', () => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 30; sample += 1) {
      const amount = sample % 3 === 0 ? 350 : 50;
      speed.measured(amount, 30 + amount);
    }
    expect(speed.msFor(350) / 380).toBeGreaterThan(0.8);
    expect(speed.msFor(350) / 380).toBeLessThan(1.2);
  });

  it('assumes the usual slope for long prompts after a few very short ones', () => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 5; sample += 1) speed.measured(1, 90);
    expect(speed.msFor(4000)).toBeLessThan(3 * 430);
  });

  it('becomes certain when predictions come true, and uncertain when they do not', () => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 200; sample += 1)
      speed.measured(1000 + (sample % 7) * 500, 30 + (1000 + (sample % 7) * 500) * 0.1);
    expect(speed.spread()).toBeLessThan(0.1);
    for (let sample = 0; sample < 100; sample += 1) speed.measured(2000, sample % 2 === 0 ? 40 : 1200);
    expect(speed.spread()).toBeGreaterThan(0.4);
  });

  it('does not follow a single sample that waited for something else', () => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 100; sample += 1) speed.measured(4000, 430);
    speed.measured(4000, 600_000);
    expect(speed.msFor(4000)).toBeLessThan(460);
  });

  it('follows what has become twenty times slower within eight samples', () => {
    const speed = createSpeed(assumed);
    for (let sample = 0; sample < 100; sample += 1) speed.measured(4000, 430);
    for (let sample = 0; sample < 8; sample += 1) speed.measured(4000, 8600);
    expect(speed.msFor(4000)).toBeGreaterThan(4300);
  });
});
