import { faultOfRequests, helpIn } from './continuation-request.ts';
import { faultOfWhole } from './sweep-expectation.ts';
import { sentBefore } from './sweep-reference.ts';
import type { Tried } from './sweep-run.ts';
import type { Checked } from './sweep-table.ts';

/**
 * Longest that a fault may hold an answer up, milliseconds: silence must not be what gave it away. Half of the limit of silence in these
 * gateways, because the machine may be busy.
 */
const atOnceMs = 30_000;

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
    return { swept, met: asked.broken.length > 0, help: helpIn(asked.spare), fault: wrong };
  });
}
