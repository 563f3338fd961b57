import { type Cause, causes, causeText, saidText } from '../../core/cause.ts';
import type { Finding } from './kinds.ts';

/** How many requests to a model, or attempts on a backend, failed. Failures by the caller's fault are left out. */
export interface ErrorFigure {
  /** `Model/qwen3-8b` or `Backend/vllm-a` */
  readonly object: string;
  /** The id of a model; undefined: it is a backend. */
  readonly model: string | undefined;
  readonly windowMs: number;
  readonly failed: number;
  readonly total: number;
  /** The newest requests or attempts, which show whether requests still fail. */
  readonly lately: { readonly failed: number; readonly total: number };
  /** Failures since the last success. */
  readonly inARow: number;
  /** Answers in a row that nobody could count: the engine did not, and there is no tokenizer. */
  readonly estimated: number;
  /** The newest failure, and what the engine said then (`Fault.said`). Undefined if it is not known. */
  readonly lastFault:
    | { readonly cause: Cause; readonly status: number | undefined; readonly said?: string | undefined }
    | undefined;
}

/**
 * The problem begins when a tenth of them fails, and ends when less than a twentieth does. While nothing succeeds it does not
 * end, however long there is no request.
 */
const shares = { begin: 0.1, end: 0.05 } as const;
/** Fewer failures may be one bad moment. If every request failed, fewer are enough. */
const enoughFailures = 5;
const enoughWhereAllFail = 3;

/** The problem of a model or backend with too many failures. Undefined if there are not too many. */
export function errorRateProblem(
  figure: ErrorFigure,
  isListed: (problem: Pick<Finding, 'object' | 'kind'>) => boolean,
): Finding | undefined {
  const { object, model, failed, total, lately, windowMs, inARow, lastFault } = figure;
  const kind = model === undefined ? 'backend-failing' : 'model-failing';
  const least = failed === total ? enoughWhereAllFail : enoughFailures;
  const share = isListed({ object, kind }) ? shares.end : shares.begin;
  const isBad = (some: ErrorFigure['lately']): boolean => some.failed >= share * some.total;
  const isLasting = inARow > 0 && isListed({ object, kind });
  if (!isLasting && (failed < least || !isBad({ failed, total }) || !isBad(lately))) return undefined;
  const what = model === undefined ? 'attempts' : 'requests';
  const minutes = Math.round(windowMs / 60_000);
  const how =
    failed === 0
      ? `The last ${inARow} ${what} failed, and there were none in the last ${minutes} minutes.`
      : `${failed} of ${total} ${what} failed in the last ${minutes} minutes (${Math.round((failed / total) * 100)} %).`;
  return {
    ...{ object, kind, model, cause: lastFault?.cause },
    problem: `${how}${lastFault === undefined ? '' : ` It ${causeText(lastFault.cause, lastFault.status)}${saidText(lastFault.said)}.`}`,
    action:
      lastFault === undefined
        ? 'Find the faults of its attempts in the log or with `weir explain`: docs/operate/runbooks.md#weirerrorbudgetburnfast'
        : `${causes[lastFault.cause].action}: docs/operate/problems.md#causes`,
  };
}

/** Fewer may be answers that were cut off, or one count that could not be true. */
const enoughEstimates = 3;

/** The problem of a backend whose answers can only be estimated. */
export function estimatedUsage({ object, model, estimated }: ErrorFigure): readonly Finding[] {
  if (model !== undefined || estimated < enoughEstimates) return [];
  return [
    {
      ...{ object, kind: 'usage-estimated' },
      problem:
        'The engine reports no usable counts of tokens, and the model has no tokenizer: bills, budgets and limits in tokens count estimates.',
      action: 'Have the engine report usage, or give the Model a tokenizer: docs/concepts/billing.md#the-bill',
    },
  ];
}
