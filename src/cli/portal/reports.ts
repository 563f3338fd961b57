import { DatabaseAway, Refusal } from '../../core/administration.ts';
import { startThread } from '../../process/worker-thread.ts';
import {
  type AccountOperations,
  type OperationArguments,
  type OperationResults,
  operationsOf,
  type ReportName,
  reports,
} from '../../store/account-operations.ts';
import type { DatabaseLocation } from '../../store/databases/database.ts';

/** A message to the thread of reports: which operation to run, and its arguments. */
export interface ReportAsk<Name extends ReportName = ReportName> {
  readonly name: Name;
  readonly given: OperationArguments[Name];
}

export interface ReportAnswer<Name extends ReportName = ReportName> {
  readonly kind: 'done';
  readonly name: Name;
  readonly result: OperationResults[Name];
}

export type ReportReply =
  | ReportAnswer
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
export function openReports(location: DatabaseLocation): {
  readonly store: AccountOperations<ReportName>;
  /** Starts the thread, so that the first page does not wait for it. */
  readonly warm: () => void;
  readonly close: () => Promise<void>;
} {
  const workerData: ReportWorkerData = { location };
  const thread = startThread<ReportAsk, ReportReply>({
    script: new URL('../../report-worker.ts', import.meta.url),
    name: 'weir-reports',
    workerData,
    silenceMs,
    idleMs,
  });
  return {
    store: operationsOf(reports, async (name, given) => resultOf(await thread.ask({ name, given }), name)),
    warm: () => void thread.ask({ name: 'findRequest', given: [''] }).catch(() => undefined),
    close: thread.close,
  };
}

function resultOf<Name extends ReportName>(reply: ReportReply, name: Name): OperationResults[Name] {
  switch (reply.kind) {
    case 'refused':
      throw new Refusal(reply.sentence, reply.field === undefined ? {} : { field: reply.field });
    case 'away':
      throw new DatabaseAway(reply.message);
    case 'failed':
      throw new Error(reply.message);
    case 'done':
      if (isOf(reply, name)) return reply.result;
      throw new Error(`the thread of reports answered ${reply.name} to ${name}`);
  }
}

function isOf<Name extends ReportName>(reply: ReportAnswer, name: Name): reply is ReportAnswer<Name> {
  return reply.name === name;
}
