import type { Credential, Outcome, Store } from '../../core/account.ts';
import type { OutcomeKind } from '../../core/settled-request.ts';
import type { Route } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { Surface } from '../../core/dialect.ts';
import { codeOfOutcome, type Failure, failureName } from '../../core/failure.ts';
import { faultName, type Fault, type RefusedFor, type RelayedEvent } from '../../core/event.ts';
import { costOf, type Money, type Usage } from '../../core/money.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { RequestWatch } from '../core/telemetry.ts';
import { type AnswerLengths, expectOutput, expectUsage, lengthOf } from './expected-output.ts';
import { createMeter, type AnswerEnding, type TokenCounters } from './meter.ts';
import { estimatePrompt } from './estimate-prompt.ts';
import { createOutputWatch } from './output-timing.ts';
import { createReasoningSplit } from './reasoning-split.ts';

interface SettlementOptions {
  readonly requestId: string;
  readonly surface: Surface;
  readonly correlationId: string;
  readonly credential: Credential;
  /** The result of `readTags`. */
  readonly tags?: string | undefined;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  /** The counters of the model's own tokenizer, for counts that no engine reports. Undefined: the model has no tokenizer. */
  readonly counters: TokenCounters | undefined;
  /** The price of one web search. Undefined: the request cannot search. */
  readonly searchPrice: Money | undefined;
  /** Called every `accrueEveryMs` while output is delivered, with what the request is expected to use by its end. */
  readonly accrue: ((expected: { readonly cost: Money; readonly tokens: number }) => void) | undefined;
  /** When the request arrived, milliseconds: `startedAt` on the wall clock, `begun` on the monotonic one. */
  readonly startedAt: number;
  readonly begun: number;
  readonly watch: Pick<RequestWatch, 'progress' | 'attemptLog'>;
}

export interface SettlementServices {
  readonly store: Store;
  readonly clock: Clock;
  /** How long the answers of models are. Undefined: no output is expected before it is delivered. */
  readonly answerLengths: AnswerLengths | undefined;
}

/** The account of one request, from its dispatch to its row in the ledger. */
export type Settlement = ReturnType<typeof createSettlement>;

/** The part of a request's end that is recorded. */
interface SettledEnd {
  readonly attempts: number;
  /** The number of routes that were attempted. */
  readonly routes?: number;
  readonly route?: Route | undefined;
  readonly refusedFor?: RefusedFor | undefined;
  /** The error for a caller whose answer had not begun. */
  readonly failure?: Pick<Failure, 'code' | 'about'> | undefined;
  /** The fault of the attempt that failed last. */
  readonly lastFault?: Pick<Fault, 'kind' | 'status'> | undefined;
  /** Whether an engine had the request, if its caller left. Absent: an engine had it. */
  readonly heard?: boolean;
}

function endingOf(kind: OutcomeKind, { attempts, heard = true }: SettledEnd): AnswerEnding {
  if (attempts === 0) return 'not-dispatched';
  return kind === 'cancelled' && !heard ? 'unheard' : kind;
}

/** The outcomes that follow from faults of engines. */
const ofEngines: ReadonlySet<OutcomeKind> = new Set<OutcomeKind>(['interrupted', 'incomplete', 'failed']);

/** What the ledger keeps of why a request failed. */
function failedBy(kind: OutcomeKind, { failure, refusedFor, lastFault }: SettledEnd) {
  const code = codeOfOutcome[kind] ?? failure?.code;
  return {
    fault: lastFault && faultName(lastFault),
    failure: code && failureName({ code, about: failure?.about ?? [] }, refusedFor),
  };
}

/** What counts against limits in tokens a minute: prompt and output, cached and reasoning tokens included. */
export const tokensOf = ({ promptTokens, completionTokens }: Usage): number => promptTokens + completionTokens;

/** Least time between two calls of `accrue`, milliseconds. Computing the cost takes longer than handling a chunk. */
const accrueEveryMs = 100;

export function createSettlement(options: SettlementOptions, { store, clock, answerLengths }: SettlementServices) {
  const { requestId, surface, correlationId, credential, tags, prepared, plan, startedAt, begun } = options;
  const { searchPrice, counters, accrue } = options;
  const prices = searchPrice === undefined ? plan.model.prices : { ...plan.model.prices, webSearch: searchPrice };
  const meter = createMeter(estimatePrompt(prepared.shape, plan.model), counters);
  const { stream, includeUsage } = prepared.request;
  // The split is computed only if the caller sees it: a stream may have no usage chunk.
  const split =
    counters !== undefined && (!stream || includeUsage) ? createReasoningSplit(counters.countText) : undefined;
  const delivered = createOutputWatch();
  let firstTokenMs: number | undefined;
  let accruedAtMs = 0;
  const expectedOutput = answerLengths === undefined ? 0 : expectOutput(prepared.request, plan.model, answerLengths);

  const expected = () => {
    const usage = expectUsage(meter.soFar(), prepared.request, expectedOutput);
    return { cost: costOf(usage, prices), tokens: tokensOf(usage) };
  };

  return {
    /**
     * The expected cost of the request by its end, and its expected tokens, for its reservation: those so far and the expected rest
     * of the output. An estimate until an engine has counted; lower than the bill only if the answer is longer than expected.
     */
    expected,
    /** Counts the delivered events. */
    take: (events: readonly RelayedEvent[]): void => {
      const elapsedMs = clock.elapsed() - begun;
      firstTokenMs ??= Math.round(elapsedMs);
      delivered.take(events, elapsedMs);
      meter.take(events);
      split?.take(events);
      if (elapsedMs < accruedAtMs + accrueEveryMs) return;
      accruedAtMs = elapsedMs;
      accrue?.(expected());
    },
    /**
     * Records the request and returns its outcome with the bill. Resolves when the record is durable. Call it once, on
     * every exit.
     */
    settle: async (kind: OutcomeKind, end: SettledEnd): Promise<Outcome> => {
      const { attempts, routes, route, refusedFor } = end;
      const { usage: metered, countedBy } = await meter.bill(endingOf(kind, end));
      const splits = kind === 'completed' && countedBy !== 'estimate';
      // No search was made, but one was possible: the count is zero. Without web search there is no count.
      const searches = prepared.request.webSearch === undefined ? {} : { webSearches: 0 };
      const usage = { ...searches, ...(splits && split !== undefined ? await split.complete(metered) : metered) };
      const cost = costOf(usage, prices);
      const output = delivered.timing(usage);
      const outcome: Outcome = {
        ...{ requestId, surface, kind, usage, countedBy, cost, attempts, startedAt },
        correlationId,
        workspaceId: credential.workspace.id,
        keyId: credential.key.id,
        modelId: plan.model.id,
        routeId: route?.id,
        stream: prepared.request.stream,
        routes: attempts === 0 ? undefined : routes,
        firstTokenMs,
        durationMs: Math.round(clock.elapsed() - begun),
        tags,
        ...(ofEngines.has(kind) ? { ...failedBy(kind, end), attemptLog: options.watch.attemptLog() } : undefined),
        output,
        refusedFor,
      };
      options.watch.progress({ kind: 'settled', outcome });
      const length = lengthOf(prepared.request, outcome);
      if (length !== undefined) answerLengths?.learn(plan.model.id, length);
      await store.settle(outcome);
      return outcome;
    },
  };
}
