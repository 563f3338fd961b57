// A process for the test that kills: settles requests, prints how many of its life are durable, and sends events, all as a service does.
// Its clock is 30 times as fast, so that pauses and leases take a thirtieth. Ends settling when its input ends, and goes on sending.
import { startSending } from '../../src/control/reconcilers/send-events.ts';
import { createWebhookSender } from '../../src/gateway/egress/send-webhook.ts';
import { systemClock } from '../../src/process/clock.ts';
import { tryLock } from '../../src/process/lock.ts';
import { startWorker } from '../../src/process/worker-thread.ts';
import { openAccountsThread } from '../../src/books/store/accounts-thread.ts';
import { openStore, startStoreThread } from '../../src/books/store/open-store.ts';
import { eventOperations } from '../../src/books/store/operation-names.ts';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { sampleOutcome } from './sample-outcome.ts';

const [url = '', journal = '', accounts = '', life = '', receiver = '', secret = ''] = process.argv.slice(2);
const owners = JSON.parse(accounts) as readonly { readonly workspaceId: string; readonly keyId: string }[];
const location = databaseLocation({ url });
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const faster = 30;
const begin = systemClock.now();
const clock = {
  now: () => Math.round(begin + (systemClock.now() - begin) * faster),
  after: (ms: number, run: () => void) => systemClock.after(ms / faster, run),
};
const thread = openAccountsThread(location, eventOperations, { name: 'events', silenceMs: 60_000, idleMs: 60_000 });
const sender = createWebhookSender({
  ...{ url: receiver, readSecrets: async () => secret, clock },
  contentType: 'application/cloudevents-batch+json',
});
startSending({
  ...{ store: thread.store, clock, changes: () => undefined, holder: life, name: 'events', maxWaiting: 100_000_000 },
  send: sender.send,
  log: ({ problem }) => say(`problem ${String(problem)}`),
});

const store = await openStore({
  ...{ location, journal, tryLock, thread: startStoreThread(startWorker) },
});
const phase = { isOver: false };
process.stdin.on('end', () => (phase.isOver = true)).resume();
say('open');
const atOnce = 200;
for (let number = 0; !phase.isOver; number += atOnce) {
  const rows = Array.from({ length: atOnce }, (_, index) => number + index);
  await Promise.all(
    rows.map((row) => {
      const owner = owners[row % owners.length] ?? { workspaceId: '', keyId: '' };
      return store.settle(sampleOutcome({ ...owner, requestId: `${life}/${row}`, cost: BigInt((row % 97) + 1) }));
    }),
  );
  say(`settled ${number + atOnce}`);
}
say('done');
