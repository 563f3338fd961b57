import type { AnswerEvent } from '../core/event.ts';
import type { OutcomeKind } from '../core/account.ts';
import type { Usage } from '../core/usage.ts';

/** Bytes of a prompt per token, for the estimate that stands in where no engine and no tokenizer counted. */
const bytesPerToken = 4;

export interface Metered {
  readonly usage: Usage;
  /** True when a count was not reported by an engine and not counted with the model's tokenizer. */
  readonly estimated: boolean;
}

/** Counts what one answer used, from the events that were delivered. */
export interface Meter {
  readonly take: (events: readonly AnswerEvent[]) => void;
  /** What would be billed if the caller left now. */
  readonly soFar: () => Usage;
  /** What is billed for an answer that ended like this (design, "What is billed"). */
  readonly bill: (kind: OutcomeKind) => Metered;
}

const nothing: Usage = { promptTokens: 0, completionTokens: 0 };

/** Starts a count. `promptBytes` is the size of the request, for when nothing better is told. */
export function createMeter(promptBytes: number): Meter {
  let reported: Usage | undefined;
  /** Whether a part of what was reported is an estimate of our own. */
  let isEstimate = false;
  /** The engine's own deltas delivered so far; about one token each. */
  let deltas = 0;
  let deltasAtReport = 0;

  /** Output delivered: the engine's running count, and one token for each delta that came after it. */
  const delivered = (): number => (reported?.completionTokens ?? 0) + deltas - deltasAtReport;
  const promptTokens = (): number => reported?.promptTokens ?? Math.ceil(promptBytes / bytesPerToken);

  function soFar(): Usage {
    const cached = reported?.cachedTokens === undefined ? {} : { cachedTokens: reported.cachedTokens };
    return { promptTokens: promptTokens(), completionTokens: delivered(), ...cached };
  }

  return {
    soFar,
    take: (events) => {
      for (const event of events) {
        switch (event.type) {
          case 'text-delta':
          case 'reasoning-delta':
          case 'refusal-delta':
            deltas += event.deltas;
            break;
          case 'tool-start':
          case 'tool-delta':
            deltas += 1;
            break;
          case 'usage':
            reported = event.usage;
            isEstimate = event.estimated === true;
            deltasAtReport = deltas;
            break;
          case 'finish':
            break;
        }
      }
    },
    bill: (kind) => {
      switch (kind) {
        case 'completed':
          return reported === undefined
            ? { usage: { promptTokens: promptTokens(), completionTokens: deltas }, estimated: true }
            : { usage: reported, estimated: isEstimate };
        case 'cancelled':
          return { usage: soFar(), estimated: reported === undefined || isEstimate || deltas !== deltasAtReport };
        case 'interrupted':
          return {
            usage: { promptTokens: 0, completionTokens: delivered() },
            estimated: reported === undefined || isEstimate || deltas !== deltasAtReport,
          };
        case 'incomplete':
        case 'failed':
          return { usage: nothing, estimated: false };
      }
    },
  };
}
