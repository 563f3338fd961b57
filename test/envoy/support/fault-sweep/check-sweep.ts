import { countTokens } from '../../../programmable-engine/tokens.ts';
import { faultOfRequests, helpIn } from './continuation-request.ts';
import type { Interrupted } from './interrupted-stream.ts';
import { faultOfFailed, faultOfInterrupted } from './sweep-failure.ts';
import { faultOfWhole } from './sweep-expectation.ts';
import { sentBefore } from './sweep-reference.ts';
import type { Tried } from './sweep-run.ts';
import type { Checked } from './sweep-table.ts';

/**
 * Longest that a fault which shows at once may hold an answer up, milliseconds: silence must not be what gave it away. Half of the limit of
 * silence in these gateways, because the machine may be busy.
 */
const atOnceMs = 30_000;

function checked({ swept, asked }: Tried, fault: string | undefined): Checked {
  return { swept, met: asked.broken.length > 0, help: helpIn(asked.spare), fault };
}

/** A second route is there and able: nobody may see that anything happened. */
export function checkUnseen(all: readonly Tried[]): readonly Checked[] {
  return all.map((tried) => {
    const { swept, answer, asked, tookMs } = tried;
    const { reference, stream, fault, at } = swept;
    const { counting = 'exact' } = reference.shape;
    // A reset may take with it what was sent before.
    const interchangeable = stream && (fault === 'reset' || sentBefore(reference, at).begun < reference.choices.length);
    return checked(
      tried,
      faultOfWhole(answer, reference, { stream, counting, interchangeable }) ??
        faultOfRequests(asked, reference) ??
        (fault !== 'stall' && tookMs > atOnceMs ? `it took ${Math.round(tookMs)} ms` : undefined),
    );
  });
}

/** Tokens that the programmable engine counts for what was delivered. */
function tokensOf({ choices }: Interrupted): number {
  const texts = choices.flatMap(({ message: { reasoning, content, refusal, tool_calls: calls } }) => [
    ...[reasoning ?? '', content ?? '', refusal ?? ''],
    ...(calls ?? []).flatMap((call) => [call.function.name, call.function.arguments]),
  ]);
  return texts.reduce((sum, text) => sum + countTokens(text), 0);
}

/** No route can go on: what was delivered stands, the end is said, and nobody was asked in vain. */
export function checkAlone(all: readonly Tried[]): readonly Checked[] {
  return all.map((tried) => {
    const { swept, answer, asked } = tried;
    const { reference, stream, fault, at } = swept;
    const { counting = 'exact' } = reference.shape;
    const sent = sentBefore(reference, at);
    const outcomes = [
      ...(sent.begun === 0 || fault === 'reset' || !stream ? [faultOfFailed(answer)] : []),
      ...(stream && sent.begun > 0
        ? [faultOfInterrupted(answer, reference, counting === 'exact' ? tokensOf : undefined)]
        : []),
      ...(sent.whole || asked.spare.length > 0 ? [faultOfWhole(answer, reference, { stream, counting })] : []),
    ];
    const right = outcomes.includes(undefined) ? undefined : outcomes.join(' · ');
    return checked(tried, right ?? (helpIn(asked.spare) === 'continued' ? 'it was asked to continue' : undefined));
  });
}
