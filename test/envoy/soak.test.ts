// @suite long
import { expect, test } from 'vitest';
import { cycleReportOf, findingsOf, isSteady } from './support/soak/soak-report.ts';
import { runSoak, type SoakCycle } from './support/soak/soak-run.ts';

// A smoke of `npm run soak`: one cycle of it. Whether anything grows only a long one can tell.

test('a cycle of the soak breaks everything once, comes to rest, and its books balance', async () => {
  const cycles: SoakCycle[] = [];
  for await (const cycle of runSoak({ seed: 7, requests: 240, probes: 10 })) {
    cycles.push(cycle);
    break;
  }
  expect(cycles).toHaveLength(1);
  const [{ readings, replaced, books } = expect.fail('there is no cycle')] = cycles;
  expect(books.wrong).toEqual([]);
  expect(books.told).toBe(books.billed);
  expect(books.told).toBeGreaterThan(0n);
  expect(replaced).toEqual(['service 2']);
  // Of 22.
  expect(Object.keys(books.asked).length).toBeGreaterThan(18);
  for (const { of, figure, value } of readings) expect(value, `${of}: ${figure}`).toBeGreaterThan(0);
  expect(readings.filter(({ figure }) => figure === 'kept memory').map(({ of }) => of)).toEqual([
    ...['service 1', 'service 2', 'service 3', 'Envoy'],
  ]);
  expect(new Set(readings.filter(({ figure }) => figure === 'descriptors').map(({ of }) => of))).toEqual(
    new Set(['weir start', 'Envoy', 'service 1', 'service 2', 'service 3']),
  );
  // One cycle proves no growth, and none is claimed.
  const findings = findingsOf(cycles);
  expect(new Set(findings.map(({ verdict }) => verdict))).toEqual(new Set(['unmeasured']));
  expect(isSteady(cycles, findings)).toBe(true);
  console.log(cycles.map(cycleReportOf).join('\n'));
}, 300_000);
