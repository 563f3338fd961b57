// A process for the tests that kill: settles without end and prints each request id once the row is durable.
import { tryLock } from '../../src/process/lock.ts';
import { startWorker } from '../../src/process/worker-thread.ts';
import { openStore, startStoreThread } from '../../src/books/store/open-store.ts';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { sampleOutcome } from './sample-outcome.ts';

const [url = '', journal = '', workspaceId = '', keyId = '', name = ''] = process.argv.slice(2);
const store = await openStore({
  ...{ location: databaseLocation({ url }), journal, tryLock },
  thread: startStoreThread(startWorker),
});
process.stdout.write('open\n');
for (let round = 0; ; round += 1) {
  const ids = Array.from({ length: 20 }, (_, index) => `${name}-${round}-${index}`);
  await Promise.all(
    ids.map(async (requestId) => {
      await store.settle(sampleOutcome({ requestId, workspaceId, keyId, cost: 3n }));
      process.stdout.write(`${requestId}\n`);
    }),
  );
}
