import { expect } from 'vitest';
import type { StormTally } from './storm-report.ts';
import type { StormKindName } from './storm-kinds.ts';

/** What its callers saw, or its rows say, at least once, if a storm had what a kind is there for. */
const wanted: Readonly<
  Record<StormKindName, { readonly saw: string; readonly outcome: string; readonly many?: true }>
> = {
  'whole answer': { saw: 'billed', outcome: 'completed' },
  stream: { saw: 'billed', outcome: 'completed' },
  'stream without usage': { saw: 'whole', outcome: 'completed' },
  'nothing counted': { saw: 'billed', outcome: 'completed' },
  'counted as zero': { saw: 'billed', outcome: 'completed' },
  refusal: { saw: 'billed', outcome: 'completed' },
  hedged: { saw: 'billed', outcome: 'completed', many: true },
  'failed over at once': { saw: 'billed', outcome: 'completed', many: true },
  'failed over in mid-stream': { saw: 'billed', outcome: 'completed', many: true },
  interrupted: { saw: 'interrupted', outcome: 'interrupted' },
  incomplete: { saw: 'incomplete', outcome: 'incomplete' },
  'no route serves it': { saw: '502', outcome: 'failed' },
  'cancelled before the first byte': { saw: 'left', outcome: 'cancelled' },
  'cancelled in mid-stream': { saw: 'left', outcome: 'cancelled' },
  'cancelled before the usage': { saw: 'left', outcome: 'cancelled' },
  'not a request': { saw: '400', outcome: 'no row' },
  'no such model': { saw: '400', outcome: 'no row' },
  'without a key': { saw: '401', outcome: 'no row' },
  'without money': { saw: '402', outcome: 'no row' },
  'of a suspended key': { saw: '403', outcome: 'no row' },
  'of a key that expires': { saw: '401', outcome: 'completed' },
  'of a model its key may not call': { saw: '400', outcome: 'no row' },
  'above the rate': { saw: '429', outcome: 'no row' },
};

/** Expects that a storm had everything in it that it is made of: a kind that never happened proves nothing. */
export function expectEveryKind(tallies: ReadonlyMap<string, StormTally>): void {
  for (const [kind, { saw, outcome, many }] of Object.entries(wanted)) {
    const tally = tallies.get(kind);
    expect(tally?.saw.get(saw) ?? 0, `${kind}: ${saw}`).toBeGreaterThan(0);
    expect(tally?.outcomes.get(outcome) ?? 0, `${kind}: ${outcome}`).toBeGreaterThan(0);
    if (many) expect(tally?.manyAttempts ?? 0, `${kind}: several attempts`).toBeGreaterThan(0);
  }
}
