import { expect, test } from 'vitest';
import type { CpuProfile } from './cpu-profile.ts';
import type { LoopStall } from './loop-watch.ts';
import { explainStalls, groupStalls } from './stalls.ts';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });
/** `sweep` of src/gateway/metering runs from 1,000 to 1,010 ms, `write` of src/books from 1,010 to 1,020 ms. */
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)') },
    { id: 2, callFrame: frame('sweep', 'file:///somewhere/src/gateway/metering/sweep.ts') },
    { id: 3, callFrame: frame('write', 'file:///somewhere/src/books/store/write.ts') },
    { id: 4, callFrame: frame('(idle)') },
  ],
  startTime: 1_000_000,
  samples: [...Array.from({ length: 10 }, () => 2), ...Array.from({ length: 10 }, () => 3), 4, 4],
  timeDeltas: [0, ...Array.from({ length: 20 }, () => 1_000), 100_000],
};

function explain(stall: LoopStall, around: Partial<Parameters<typeof explainStalls>[1]> = {}) {
  const [explained] = explainStalls([stall], { startMs: 500, profile, collections: [], work: [], ...around });
  return explained;
}

test('a stall has the folder and the function that the profile has at its time', () => {
  expect(explain({ fromMs: 1_000, toMs: 1_010, ranMs: 10 })).toMatchObject({
    ...{ second: 0.5, ms: 10, withoutProcessorMs: 0, collectionMs: 0, collections: [], beside: [] },
    ...{
      stage: 'src/gateway/metering',
      heaviest: 'sweep src/gateway/metering/sweep.ts:1',
      cause: 'src/gateway/metering',
    },
  });
  expect(explain({ fromMs: 1_010, toMs: 1_020, ranMs: 10 })).toMatchObject({ cause: 'src/books/store' });
});

test('a collection causes a stall of which it is half', () => {
  const stall = { fromMs: 1_000, toMs: 1_010, ranMs: 10 };
  const half = explain(stall, { collections: [{ kind: 'major', fromMs: 990, toMs: 1_005 }] });
  expect(half).toMatchObject({ collectionMs: 5, collections: ['major'], cause: 'garbage collection, major' });
  const less = explain(stall, { collections: [{ kind: 'minor', fromMs: 1_001, toMs: 1_005 }] });
  expect(less).toMatchObject({ collectionMs: 4, collections: ['minor'], cause: 'src/gateway/metering' });
  const before = explain(stall, { collections: [{ kind: 'minor', fromMs: 990, toMs: 1_000 }] });
  expect(before).toMatchObject({ collectionMs: 0, collections: [] });
});

test('a thread without a processor is not blamed on what it would have run', () => {
  expect(explain({ fromMs: 1_000, toMs: 1_010, ranMs: 2 })).toMatchObject({
    withoutProcessorMs: 8,
    cause: 'no processor was free',
  });
});

test('a stall without samples has no folder', () => {
  expect(explain({ fromMs: 5_000, toMs: 5_010, ranMs: 10 })).toMatchObject({ stage: undefined, cause: 'unknown' });
});

test('a stall names the work of the bench that was under way, once', () => {
  const scrape = { name: 'scrape', fromMs: 1_004, toMs: 1_006 };
  const later = { name: 'catalog change', fromMs: 1_011, toMs: 2_000 };
  expect(
    explain({ fromMs: 1_000, toMs: 1_010, ranMs: 10 }, { work: [scrape, { ...scrape, fromMs: 1_005 }, later] }),
  ).toMatchObject({ beside: ['scrape'] });
});

test('stalls are grouped by cause, the one with the longest stall first', () => {
  const stalls = explainStalls(
    [
      { fromMs: 1_000, toMs: 1_006, ranMs: 6 },
      { fromMs: 1_002, toMs: 1_009, ranMs: 7 },
      { fromMs: 1_010, toMs: 1_020, ranMs: 10 },
    ],
    { startMs: 0, profile, collections: [], work: [] },
  );
  expect(groupStalls(stalls)).toEqual([
    { cause: 'src/books/store', count: 1, maxMs: 10, totalMs: 10 },
    { cause: 'src/gateway/metering', count: 2, maxMs: 7, totalMs: 13 },
  ]);
});
