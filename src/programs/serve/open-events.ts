import { randomUUID } from 'node:crypto';
import { startAlerts } from '../../control/reconcilers/find-alerts.ts';
import { startSending } from '../../control/reconcilers/send-events.ts';
import type { DependencyWatch } from '../../core/dependency-cause.ts';
import type { EventSubscription, SubscriptionFigures } from '../../core/event-delivery.ts';
import { messageOf } from '../../core/failure.ts';
import { createWebhookSender, readWebhookSecrets } from '../../gateway/egress/send-webhook.ts';
import { maxSecretBytes, readBoundedFile } from '../../process/bounded-file.ts';
import { backgroundClock } from '../../process/clock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import { eventOperations, vectorOperations } from '../../books/store/operation-names.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';
import type { ProgramSurroundings } from '../command-line/run-program.ts';

const silenceMs = 60_000;
const idleMs = 60_000;

/**
 * Looks for thresholds that budgets and balances have reached, and sends events and webhooks, for as long as the service
 * runs. Rejects if the settings of a receiver cannot be used.
 */
export async function openEvents(
  settings: Settings,
  { log }: Pick<ProgramSurroundings['programLog'], 'log'>,
  { reportOf, changes }: { readonly reportOf: DependencyWatch['of'] } & Pick<OpenStore, 'changes'>,
) {
  const wanted = await subscriptionsOf(settings);
  const { WEIR_DATABASE_URL: database } = settings;
  const location = databaseLocation(database === undefined ? { data: settings.WEIR_DATA } : { url: database });
  const operations = { ...eventOperations, ...vectorOperations, recordModelPrices: true };
  const { store, close } = openAccountsThread(location, operations, {
    name: 'weir-events',
    silenceMs,
    idleMs,
    isLowPriority: true,
  });
  const partLog = limitRepeats(log, backgroundClock);
  const parts = { store, clock: backgroundClock, changes };
  // Functions cannot go to another thread.
  const subscriptions = wanted.map(({ name, kinds }) => ({ name, kinds }));
  const alerts = startAlerts({ ...parts, subscriptions, log: (...record) => partLog.warn(...record) });
  const senders = wanted.map(({ name, target, maxWaiting }) => {
    const report = reportOf(name === 'alerts' ? 'webhook' : 'events');
    const sender = createWebhookSender({ ...target, report, clock: backgroundClock });
    const holder = randomUUID();
    const sending = startSending({
      ...{ ...parts, holder, name, maxWaiting, send: sender.send },
      log: (...record) => partLog.warn(...record),
    });
    const closeBoth = async (): Promise<void> => {
      await sending.close();
      await sender.close();
    };
    return { figures: sending.figures, close: closeBoth };
  });
  return {
    /** Undefined: nothing is sent. */
    deliveries:
      senders.length === 0 ? undefined : (): readonly SubscriptionFigures[] => senders.map(({ figures }) => figures()),
    avoidable: alerts.avoidable,
    /** The database, in the thread of the events. */
    store,
    close: async (): Promise<void> => {
      await Promise.all([alerts.close(), ...senders.map((sender) => sender.close())]);
      await close();
    },
  };
}

type Target = Pick<Parameters<typeof createWebhookSender>[0], 'url' | 'readSecrets' | 'contentType'>;
type Wanted = EventSubscription & { readonly target: Target; readonly maxWaiting: number };

async function subscriptionsOf(settings: Settings): Promise<readonly Wanted[]> {
  const { WEIR_WEBHOOK_URL: alerts, WEIR_WEBHOOK_SECRET_FILE: alertsFile } = settings;
  const { WEIR_EVENTS_URL: events, WEIR_EVENTS_SECRET_FILE: eventsFile } = settings;
  const wanted: Wanted[] = [];
  if (alerts !== undefined) {
    const target = await checkedTarget({ url: alerts, file: alertsFile }, 'WEIR_WEBHOOK');
    // A workspace has few webhooks in a day, and each is given up after one.
    wanted.push({ name: 'alerts', kinds: ['message'], target, maxWaiting: Infinity });
  }
  if (events !== undefined) {
    const contentType = 'application/cloudevents-batch+json';
    const target = { ...(await checkedTarget({ url: events, file: eventsFile }, 'WEIR_EVENTS')), contentType };
    const maxWaiting = settings.WEIR_EVENTS_MAX_WAITING;
    wanted.push({ name: 'events', kinds: settings.WEIR_EVENTS_TYPES, target, maxWaiting });
  }
  return wanted;
}

async function checkedTarget(
  { url, file }: { readonly url: string; readonly file: string | undefined },
  settings: 'WEIR_WEBHOOK' | 'WEIR_EVENTS',
): Promise<Target> {
  if (file === undefined) throw new Error(`${settings}_SECRET_FILE: needed with ${settings}_URL`);
  const readSecrets = async (): Promise<string> => String(await readBoundedFile(file, maxSecretBytes));
  try {
    readWebhookSecrets(await readSecrets());
  } catch (cause) {
    throw new Error(`${settings}_SECRET_FILE: ${file}: ${messageOf(cause)}`, { cause });
  }
  return { url, readSecrets };
}
