import { describe, expect, it } from 'vitest';
import { createAutoscaler } from './autoscaler.ts';
import { objective } from './capacity.ts';
import { runScaling } from './scaling.ts';
import { noticedFrom, pathOf, stepDoneAt, stepLoad } from './scaling-table.ts';

const minuteMs = 60_000;

describe('a deployment that scales by the answers of the gateway', () => {
  it.each([1, 2, 3])('goes from zero to one, to four at once, and back to zero (seed %i)', (seed) => {
    const result = runScaling({ ...stepLoad, startMs: minuteMs, objectiveMs: undefined }, seed);
    expect(pathOf(result)).toMatch(/^0 → 1 → 4 → (?:[32] → )*1 → 0$/);
    const first = result.states.find(({ wanted }) => wanted === 1);
    const [begun] = result.requests;
    // A refused request wakes it at the next look.
    expect((first?.at ?? Infinity) - (begun?.arrivedAt ?? 0)).toBeLessThanOrEqual(stepLoad.lookMs);
    // No request waits for ever, and all callers were served.
    expect(result.requests.every(({ firstAt }) => firstAt !== undefined)).toBe(true);
  });

  it.each([
    ['refuses what would wait', objective.ms],
    ['refuses nothing', undefined],
  ])('brings first tokens within the objective after one step up, where the gateway %s', (_, objectiveMs) => {
    const { requests, states } = runScaling({ ...stepLoad, startMs: minuteMs, objectiveMs }, 1);
    for (const [from, to] of [
      [minuteMs, 10 * minuteMs],
      [10 * minuteMs, 25 * minuteMs],
    ] as const) {
      const doneAt = stepDoneAt(states, from) ?? expect.fail('a step up');
      // It has begun within two minutes, and no other one follows.
      expect(doneAt - from).toBeLessThan(2 * minuteMs);
      const ready = states.filter(({ at }) => at >= doneAt && at < to).map((state) => state.ready);
      expect(Math.max(...ready)).toBe(states.findLast(({ at }) => at === doneAt)?.ready);
      // Callers that were refused try again meanwhile. Two minutes later their work is done, too.
      const after = noticedFrom(requests, doneAt + 2 * minuteMs, to);
      expect(after.firstMsP95).toBeLessThan(objective.ms);
      expect(after.refused).toBeLessThan(0.01);
      const meanwhile = noticedFrom(requests, from, doneAt);
      expect(meanwhile.refused > 0.5 || meanwhile.firstMsP95 > 10 * objective.ms).toBe(true);
    }
  });

  it('is late for good without an autoscaler', () => {
    const options = { ...stepLoad, maxReplicas: 1, startMs: minuteMs, objectiveMs: undefined };
    const { requests } = runScaling(options, 1);
    expect(noticedFrom(requests, 15 * minuteMs, 25 * minuteMs).firstMsP95).toBeGreaterThan(100 * objective.ms);
  });
});

describe('the autoscaler', () => {
  const options = { target: 0.7, maxReplicas: 10, cooldownMs: 60_000, stabilizationMs: 45_000, upStabilizationMs: 0 };

  it('begins with one, adds at most four or doubles, and keeps within a tenth of the target', () => {
    const { look } = createAutoscaler(options);
    expect([7, 7, 7, 7.4].map((value, index) => look(index * 15_000, value))).toEqual([1, 5, 10, 10]);
  });

  it('takes the most that was wanted lately, and ends the last one after the cooldown', () => {
    const { look } = createAutoscaler(options);
    expect([0, 1, 2, 3, 4, 5].map((step) => look(step * 15_000, step < 2 ? 2 : 0))).toEqual([1, 3, 3, 3, 1, 1]);
    expect(look(76_000, 0)).toBe(0);
    expect(look(91_000, 0)).toBe(0);
  });
});
