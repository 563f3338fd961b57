import type { LedgerFilter, Page, PageRequest, UsageDimension, UsageLine } from '../../core/administration.ts';
import { DatabaseAway, Refusal } from '../../core/administration.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { startThread } from '../../process/worker-thread.ts';
import type { DatabaseLocation } from '../../store/databases/database.ts';
import type { UsageReportOptions } from '../../store/ledger/usage-report.ts';

type LinesWanted = Pick<UsageReportOptions, 'top' | 'page'>;

/** A message to the thread that reads reports. */
export type ReportAsk =
  | {
      readonly kind: 'usage';
      readonly filter: LedgerFilter;
      readonly dimensions: readonly UsageDimension[];
      readonly options: LinesWanted;
    }
  | { readonly kind: 'requests'; readonly filter: LedgerFilter; readonly page: PageRequest }
  | { readonly kind: 'request'; readonly id: string };

export type ReportReply =
  | { readonly kind: 'usage'; readonly lines: readonly UsageLine[] }
  | { readonly kind: 'requests'; readonly page: Page<SettledRequest> }
  | { readonly kind: 'request'; readonly outcome: SettledRequest | undefined }
  /** A `Refusal`. Messages between threads lose the class. */
  | { readonly kind: 'refused'; readonly sentence: string; readonly field: string | undefined }
  | { readonly kind: 'away'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

export interface ReportWorkerData {
  readonly location: DatabaseLocation;
}

/** A report over many years takes seconds. After this time the thread is ended; the next report gets a new one. */
const silenceMs = 60_000;
/** The thread ends after an hour without a report, so that a person who returns after lunch does not wait for its start. */
const idleMs = 60 * 60_000;

/**
 * Reads reports in a thread of its own: SQLite would block the event loop of the portal during a report, and with it the heartbeats of
 * all event streams.
 */
export function openReports(location: DatabaseLocation) {
  const workerData: ReportWorkerData = { location };
  const thread = startThread<ReportAsk, ReportReply>({
    script: new URL('../../report-worker.ts', import.meta.url),
    name: 'weir-reports',
    workerData,
    silenceMs,
    idleMs,
  });

  async function ask<Kind extends ReportAsk['kind']>(
    question: Extract<ReportAsk, { readonly kind: Kind }>,
    kind: Kind,
  ): Promise<Extract<ReportReply, { readonly kind: Kind }>> {
    const reply = await thread.ask(question);
    if (reply.kind === 'refused') {
      throw new Refusal(reply.sentence, reply.field === undefined ? {} : { field: reply.field });
    }
    if (reply.kind === 'away') throw new DatabaseAway(reply.message);
    if (reply.kind === 'failed') throw new Error(reply.message);
    if (isOf(reply, kind)) return reply;
    throw new Error(`the thread of reports answered ${reply.kind} to ${kind}`);
  }

  return {
    /** With errors and times to the first token, as the portal shows them. */
    usageReport: async (filter: LedgerFilter, dimensions: readonly UsageDimension[], options: LinesWanted) =>
      (await ask({ kind: 'usage', filter, dimensions, options }, 'usage')).lines,
    pageOfRequests: async (filter: LedgerFilter, page: PageRequest) =>
      (await ask({ kind: 'requests', filter, page }, 'requests')).page,
    /** Starts the thread, so that the first page does not wait for it. */
    warm: () => void thread.ask({ kind: 'request', id: '' }).catch(() => undefined),
    findRequest: async (id: string) => (await ask({ kind: 'request', id }, 'request')).outcome,
    close: thread.close,
  };
}

function isOf<Kind extends ReportReply['kind']>(
  reply: ReportReply,
  kind: Kind,
): reply is Extract<ReportReply, { readonly kind: Kind }> {
  return reply.kind === kind;
}
