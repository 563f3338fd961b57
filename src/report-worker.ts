/** Reads reports for the portal in a thread of its own, with its own connection. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReportAsk, ReportReply, ReportWorkerData } from './cli/portal/reports.ts';
import { Refusal } from './core/administration.ts';
import { messageOf } from './core/failure.ts';
import type { ThreadMessage } from './core/worker-thread.ts';
import { type Accounts, openAccounts } from './store/open-accounts.ts';
import { CannotOpen } from './store/databases/database.ts';

let opening: Promise<Accounts> | undefined;

function accounts(): Promise<Accounts> {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `openReports`, which starts this thread, is typed to give exactly this.
  const { location } = workerData as ReportWorkerData;
  opening ??= openAccounts(location, { missing: 'refuse', user: 'operator' }).catch((error: unknown) => {
    // The next question tries again.
    opening = undefined;
    throw error;
  });
  return opening;
}

async function answer(ask: ReportAsk): Promise<ReportReply> {
  let isAway = (error: unknown): boolean => error instanceof CannotOpen && error.kind === 'away';
  try {
    const { usageReport, pageOfRequests, findRequest, ...opened } = await accounts();
    isAway = opened.isAway;
    switch (ask.kind) {
      case 'usage':
        return {
          kind: 'usage',
          lines: await usageReport(ask.filter, ask.dimensions, { measures: 'performance', ...ask.options }),
        };
      case 'requests':
        return { kind: 'requests', page: await pageOfRequests(ask.filter, ask.page) };
      case 'request':
        return { kind: 'request', outcome: await findRequest(ask.id) };
    }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', sentence: error.sentence, field: error.field };
    return { kind: isAway(error) ? 'away' : 'failed', message: messageOf(error) };
  }
}

parentPort?.on('message', ({ id, ask }: ThreadMessage<ReportAsk>) => {
  void answer(ask).then((reply) => parentPort?.postMessage({ id, reply }));
});
