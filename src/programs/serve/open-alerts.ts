import { startAlerts } from '../../control/reconcilers/send-alerts.ts';
import type { DependencyReport } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { createWebhookSender, readWebhookSecrets } from '../../gateway/egress/send-webhook.ts';
import { maxSecretBytes, readBoundedFile } from '../../process/bounded-file.ts';
import { backgroundClock } from '../../process/clock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import { alertOperations } from '../../books/store/operation-names.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';
import type { ProgramSurroundings } from '../command-line/run-program.ts';

const silenceMs = 60_000;
const idleMs = 60_000;

/**
 * Looks for thresholds that budgets and balances have reached, and sends the webhooks, for as long as the service runs.
 * Rejects if the settings of the webhook cannot be used.
 */
export async function openAlerts(
  settings: Settings,
  { log }: ProgramSurroundings['programLog'],
  { report, changes }: { readonly report: DependencyReport } & Pick<OpenStore, 'changes'>,
) {
  const { WEIR_WEBHOOK_URL: url, WEIR_WEBHOOK_SECRET_FILE: file, WEIR_DATABASE_URL: database } = settings;
  const sender = url === undefined ? undefined : createWebhookSender({ ...(await checkedTarget(url, file)), report });
  const location = databaseLocation(database === undefined ? { data: settings.WEIR_DATA } : { url: database });
  const operations = { ...alertOperations, recordModelPrices: true };
  const { store, close } = openAccountsThread(location, operations, { name: 'weir-alerts', silenceMs, idleMs });
  const partLog = limitRepeats(log, backgroundClock);
  const alerts = startAlerts({
    store,
    clock: backgroundClock,
    changes,
    send: sender?.send,
    log: (...record) => partLog.warn(...record),
  });
  return {
    deliveries: alerts.deliveries,
    /** The database, in the thread of the alerts. */
    store,
    close: async (): Promise<void> => {
      await alerts.close();
      await close();
      await sender?.close();
    },
  };
}

async function checkedTarget(url: string, file: string | undefined) {
  if (file === undefined) throw new Error('WEIR_WEBHOOK_SECRET_FILE: needed with WEIR_WEBHOOK_URL');
  const readSecrets = async (): Promise<string> => String(await readBoundedFile(file, maxSecretBytes));
  try {
    readWebhookSecrets(await readSecrets());
  } catch (cause) {
    throw new Error(`WEIR_WEBHOOK_SECRET_FILE: ${file}: ${messageOf(cause)}`, { cause });
  }
  return { url, readSecrets, clock: backgroundClock };
}
