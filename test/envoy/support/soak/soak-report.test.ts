import { describe, expect, it } from 'vitest';
import { findingsOf, isSteady, reportOf } from './soak-report.ts';
import type { Reading } from './readings.ts';
import type { Books, SoakCycle } from './soak-run.ts';

const books: Books = { asked: { stream: 10 }, rows: 10, told: 5n, billed: 5n, wrong: [] };

/** A soak of 24 cycles of a minute; what is read of it by the number of the cycle. */
function soak(read: (index: number) => readonly Reading[], more: Partial<SoakCycle> = {}): readonly SoakCycle[] {
  return Array.from({ length: 24 }, (_, index) => ({
    ...{ at: index + 1, stormSeconds: 40, replaced: [], books, ...more },
    readings: [...read(index), { of: 'machine', figure: 'without the gateway', value: 1 }],
  }));
}

const verdicts = (cycles: readonly SoakCycle[]): Readonly<Record<string, string>> =>
  Object.fromEntries(findingsOf(cycles).map(({ of, figure, verdict }) => [`${of}: ${figure}`, verdict]));

describe('the report of a soak', () => {
  it('finds what grows, and does not look at the warm-up', () => {
    const cycles = soak((index) => [
      { of: 'Envoy', figure: 'descriptors', value: 100 + 2 * index },
      { of: 'Envoy', figure: 'kept memory', value: index < 5 ? 20 + index : 25 },
    ]);
    expect(verdicts(cycles)).toMatchObject({ 'Envoy: descriptors': 'grew', 'Envoy: kept memory': 'steady' });
    const findings = findingsOf(cycles);
    expect(isSteady(cycles, findings)).toBe(false);
    expect(reportOf(cycles, findings)).toMatch(/Envoy: descriptors +112 +144 +\+28\.6 % .* grew/);
  });

  it('lets a latency grow with the machine', () => {
    const slower = (value: number, index: number): number => value * (1 + index / 24);
    const latency = soak((index) => [{ of: 'gateway', figure: 'probe p50', value: slower(5, index) }]);
    expect(verdicts(latency)).toMatchObject({ 'gateway: probe p50': 'grew' });
    const together = latency.map((cycle, index) => ({
      ...cycle,
      readings: cycle.readings.map((reading) =>
        reading.of === 'machine' ? { ...reading, value: slower(1, index) } : reading,
      ),
    }));
    expect(verdicts(together)).toMatchObject({ 'gateway: probe p50': 'unclear' });
  });

  it('compares a service that is replaced with others of its age', () => {
    const replaced = soak((index) => [{ of: 'service 2', figure: 'resident', value: 200 + 50 * (index % 4) }]).map(
      (cycle, index) => ({ ...cycle, replaced: index % 4 === 0 ? ['service 2'] : [] }),
    );
    expect(verdicts(replaced)).toMatchObject({ 'service 2: resident': 'steady' });
  });

  it.each([
    ['a fault in the books', { wrong: ['it has 2 rows'] }],
    ['a caller who was told another sum', { told: 6n }],
  ])('is not steady with %s', (_, fault) => {
    const cycles = soak(() => [], { books: { ...books, ...fault } });
    expect(isSteady(cycles, findingsOf(cycles))).toBe(false);
  });
});
