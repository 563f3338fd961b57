import { beforeEach, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import { createLoadShedder, type LoadShedder } from './load-shedder.ts';

let clock: FakeClock;
let told: number[];
let wanted: number;
let away: boolean;
let shedder: LoadShedder;

beforeEach(() => {
  clock = createFakeClock();
  told = [];
  wanted = 1;
  away = false;
  shedder = createLoadShedder({
    shed: (percent) => {
      if (away) return Promise.reject(new Error('away'));
      told.push(percent);
      return Promise.resolve();
    },
    clock,
    stepMs: 100,
    next: () => wanted,
  });
});

/** Lets steps pass; what is told is answered in between. */
async function pass(steps: number): Promise<void> {
  for (let at = 0; at < steps; at += 1) {
    clock.advance(100);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

it('begins with everything admitted, whatever was before, and repeats nothing while nothing changes', async () => {
  await pass(20);
  expect(told).toEqual([0]);
  expect(shedder.admitRatio()).toBe(1);
});

it('sets each change, in percent', async () => {
  await pass(1);
  wanted = 0.75;
  await pass(1);
  wanted = 0.333;
  await pass(1);
  wanted = 1;
  await pass(1);
  expect(told).toEqual([0, 25, 67, 0]);
});

it('repeats the setting every second while it sheds, for an Envoy that was restarted', async () => {
  wanted = 0.5;
  await pass(25);
  expect(told).toEqual([50, 50, 50]);
});

it('sets it in an Envoy that was away once it is back', async () => {
  wanted = 0.5;
  away = true;
  await pass(5);
  away = false;
  await pass(1);
  expect(told).toEqual([50]);
});

it('has Envoy admit everything when it is closed, and leaves no timer', async () => {
  wanted = 0.5;
  await pass(1);
  await shedder.close();
  expect(told).toEqual([50, 0]);
  expect(clock.armed()).toBe(0);
});

it('closes without an Envoy, too', async () => {
  away = true;
  await pass(1);
  await shedder.close();
  expect(clock.armed()).toBe(0);
});
