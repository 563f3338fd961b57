import { faultOfRequests } from './continuation-request.ts';
import { faultOfWhole } from './sweep-expectation.ts';
import { sentBefore } from './sweep-reference.ts';
import type { Tried } from './sweep-run.ts';
import { describeCase, type SweepCase } from './sweep-faults.ts';

/**
 * Longest that a fault may hold an answer up, milliseconds: silence must not be what gave it away. Half of the limit of silence in these
 * gateways, because the machine may be busy.
 */
const atOnceMs = 30_000;

/** One checked case. `fault` says why it was not held. */
export interface Checked {
  readonly swept: SweepCase;
  /** The fault was met: the first engine was asked. */
  readonly met: boolean;
  readonly fault: string | undefined;
}

/** A second route is there and able: nobody may see that anything happened. */
export function checkUnseen(all: readonly Tried[]): readonly Checked[] {
  return all.map(({ swept, answer, asked, tookMs }) => {
    const { reference, fault, at } = swept;
    // A reset may take with it what was sent before.
    const interchangeable = fault === 'reset' || sentBefore(reference, at) < reference.choices.length;
    const wrong =
      faultOfWhole(answer, reference, { counting: reference.shape.counting ?? 'exact', interchangeable }) ??
      faultOfRequests(asked, reference) ??
      (tookMs > atOnceMs ? `it took ${Math.round(tookMs)} ms` : undefined);
    return { swept, met: asked.broken.length > 0, fault: wrong };
  });
}

/** Failures told of one shape and one fault. */
const mostTold = 2;
/** Characters of a failure that are told: it may hold a whole answer. */
const mostOfEach = 400;

/** What was not held, in words: none, when all was. A case whose fault was not met is not held. */
export function lostOf(checked: readonly Checked[]): readonly string[] {
  if (checked.length === 0) return ['nothing was tried'];
  const lost = checked.filter(({ met, fault }) => !met || fault !== undefined);
  const groups = Map.groupBy(lost, ({ swept: { reference, fault } }) => `${reference.shape.name} ${fault}`);
  return [...groups.values()].flatMap((group) => {
    const told = group.slice(0, mostTold).map(({ swept, met, fault }) => {
      return `${describeCase(swept)}: ${met ? fault?.slice(0, mostOfEach) : 'the fault was not met'}`;
    });
    return group.length > mostTold ? [...told, `… and ${group.length - mostTold} more`] : told;
  });
}
