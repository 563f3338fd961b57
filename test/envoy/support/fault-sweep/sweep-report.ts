import { describeCase } from './sweep-faults.ts';
import { type Checked, sweepTable } from './sweep-table.ts';

/** What a test file has tried, for one table at its end. */
export interface SweepReport {
  /** Takes a part of it, and gives what was not held in words: none, when all was. */
  readonly lost: (checked: readonly Checked[]) => readonly string[];
  readonly print: () => void;
}

/** Of one shape and one fault. */
const mostTold = 2;
/** Characters of a failure that are told: it may hold a whole answer. */
const mostOfEach = 400;

/** Starts one. What is lost names the seed, with which the same places are tried again. */
export function createSweepReport(seed: number): SweepReport {
  const all: Checked[] = [];
  return {
    print: () => console.log(sweepTable(all)),
    lost: (checked) => {
      all.push(...checked);
      if (checked.length === 0) return ['nothing was tried'];
      const lost = checked.filter(({ met, fault }) => !met || fault !== undefined);
      const groups = Map.groupBy(lost, ({ swept: { reference, fault } }) => `${reference.shape.name} ${fault}`);
      return [...groups.values()].flatMap((group) => {
        const told = group.slice(0, mostTold).map(({ swept, met, fault }) => {
          const why = met ? fault?.slice(0, mostOfEach) : 'the fault was not met';
          return `seed ${seed}: ${describeCase(swept)}: ${why}`;
        });
        return group.length > mostTold ? [...told, `… and ${group.length - mostTold} more`] : told;
      });
    },
  };
}
