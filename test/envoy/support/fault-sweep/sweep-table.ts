import type { SweepCase } from './sweep-faults.ts';

/** One checked case. `fault` says why it was not held. */
export interface Checked {
  readonly swept: SweepCase;
  /** The fault was met: the first engine was asked. */
  readonly met: boolean;
  readonly help: 'not' | 'anew' | 'continued';
  readonly fault: string | undefined;
}

/** Held of all that were tried; a case whose fault was not met is tried in vain, and not held. */
export function heldOf(all: readonly Checked[]): { readonly held: number; readonly tried: number } {
  return { held: all.filter(({ met, fault }) => met && fault === undefined).length, tried: all.length };
}

function groupsOf(all: readonly Checked[]): ReadonlyMap<string, readonly Checked[]> {
  return Map.groupBy(all, ({ swept: { reference, fault } }) => `${reference.shape.name}\t${fault}`);
}

/** Shape by fault: held / tried, and how the second route helped. */
export function sweepTable(all: readonly Checked[]): string {
  const lines = [...groupsOf(all)].map(([name, cases]) => {
    const [shape = '', fault = ''] = name.split('\t');
    const { held, tried } = heldOf(cases);
    const help = (kind: Checked['help']): number => cases.filter((one) => one.help === kind).length;
    const cells = [`${held} / ${tried}`, `${help('continued')}`, `${help('anew')}`, `${help('not')}`];
    return [shape.padEnd(30), fault.padEnd(20), ...cells.map((cell) => cell.padStart(12))].join('');
  });
  const head = ['shape'.padEnd(30), 'fault'.padEnd(20)].join('');
  const columns = ['held', 'continued', 'anew', 'no help'].map((name) => name.padStart(12)).join('');
  const { held, tried } = heldOf(all);
  return [head + columns, ...lines, `in all: held ${held} / ${tried}`].join('\n');
}
