import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleProblem } from '../../../test/support/sample-problem.ts';
import type { Problem, ProblemReport } from '../core/problem.ts';
import type { Observed } from '../problems/find-problems.ts';
import { watchProblems } from './watch-problems.ts';

const well: Observed = {
  service: {
    ...{
      now: 0,
      failing: [],
      disk: undefined,
      filesShare: 0,
      isEnvoyAnswering: true,
      unansweredMs: 0,
      refusedShare: 0,
    },
    ...{ catalogAgeMs: undefined, certificates: [], events: [] },
    store: { database: 'up', journalBytes: 0, journalLimitBytes: 100, hasRoom: true, isDamaged: false },
  },
  ...{ mistakes: [], objects: [], errors: [], identities: { faulty: new Map(), refused: [] }, avoidable: [] },
};
const mistake = (field: string): Observed => ({
  ...well,
  mistakes: [{ where: 'a.yaml:1', field, message: 'required', object: 'Model/a' }],
});

async function setUp(options: { readonly kept?: readonly Problem[]; readonly isDiskFull?: boolean } = {}) {
  const clock = createFakeClock(Date.parse('2026-07-01T12:00:00Z'));
  let observe = async (): Promise<Observed> => well;
  let looks = 0;
  const state = { version: 'v1' };
  const reports: ProblemReport[] = [];
  const saved: (readonly Problem[])[] = [];
  const logged: string[] = [];
  const watch = await watchProblems({
    clock,
    observe: () => {
      looks += 1;
      return observe();
    },
    catalog: () => ({ version: state.version, servedAt: clock.now() }),
    file: {
      load: async () => options.kept ?? [],
      save: async (problems) => {
        if (options.isDiskFull === true) throw new Error('no space left');
        saved.push(problems);
      },
    },
    onChange: (report) => void reports.push(report),
    log: { warn: (_, message) => void logged.push(message) },
  });
  onTestFinished(watch.close);
  /** Everything that was due has been done. */
  const settle = () => nextTurn();
  await settle();
  return {
    ...{ clock, watch, reports, saved, logged, settle, state },
    looks: () => looks,
    say: (next: () => Promise<Observed>) => void (observe = next),
    lists: () => reports.map(({ problems }) => problems.map(({ problem }) => problem)),
  };
}

describe('the watch over problems', () => {
  it('reports at the first look, when the list changes, when the catalog does, and not else', async () => {
    const { clock, watch, settle, say, state, lists, looks, reports } = await setUp();
    expect(lists()).toEqual([[]]);
    clock.advance(2_000);
    await settle();
    expect([looks(), lists().length]).toEqual([2, 1]);
    say(async () => mistake('spec.id'));
    clock.advance(2_000);
    await settle();
    expect(lists()).toEqual([[], ['Refused: spec.id: required (a.yaml:1).']]);
    expect(watch.report()).toEqual(reports.at(-1));
    state.version = 'v2';
    clock.advance(2_000);
    await settle();
    expect(reports.map(({ catalog }) => catalog.version)).toEqual(['v1', 'v1', 'v2']);
  });

  it('looks at once when it is asked to, and once more after a moment when that was while it looked', async () => {
    const { clock, watch, settle, say, looks } = await setUp();
    clock.advance(200);
    const held = Promise.withResolvers<Observed>();
    say(() => held.promise);
    watch.lookNow();
    watch.lookNow();
    watch.lookNow();
    expect(looks()).toBe(2);
    held.resolve(well);
    await settle();
    clock.advance(199);
    expect(looks()).toBe(2);
    clock.advance(1);
    expect(looks()).toBe(3);
  });

  it('looks five times a second at most, however often it is asked to', async () => {
    const { clock, watch, settle, looks } = await setUp();
    for (let times = 0; times < 1_000; times += 1) {
      watch.lookNow();
      clock.advance(1);
      await settle();
    }
    expect(looks()).toBe(1 + 5);
  });

  it('rests for nineteen times as long as a look takes, also when it is asked to look', async () => {
    const { clock, watch, settle, say, looks } = await setUp();
    clock.advance(200);
    const held = Promise.withResolvers<Observed>();
    say(() => held.promise);
    watch.lookNow();
    clock.advance(500);
    held.resolve(well);
    await settle();
    watch.lookNow();
    clock.advance(9_499);
    expect(looks()).toBe(2);
    clock.advance(1);
    expect(looks()).toBe(3);
  });

  it('begins with the problems of the process before, and keeps the list when it has others', async () => {
    const kept = [sampleProblem()];
    const { clock, watch, settle, say, saved } = await setUp({ kept });
    expect(watch.report().problems).toEqual(kept);
    say(async () => mistake('spec.id'));
    clock.advance(2_000);
    await settle();
    say(async () => mistake('spec.routes'));
    clock.advance(20_000);
    await settle();
    expect(saved.map((list) => list.map(({ object }) => object))).toEqual([['Backend/vllm-a', 'Model/a'], ['Model/a']]);
  });

  it('goes on when a look fails, and when the list cannot be kept', async () => {
    const { clock, settle, say, lists, logged } = await setUp({ isDiskFull: true });
    say(() => Promise.reject(new Error('broken')));
    clock.advance(2_000);
    await settle();
    say(async () => mistake('spec.id'));
    clock.advance(2_000);
    await settle();
    expect(logged).toEqual(['problem check failed', 'writing the problem list to disk failed']);
    expect(lists().at(-1)).toHaveLength(1);
  });

  it('leaves nothing behind', async () => {
    const { clock, watch } = await setUp();
    await watch.close();
    watch.lookNow();
    expect(clock.armed()).toBe(0);
  });
});
