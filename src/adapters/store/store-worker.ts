import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { findCredential } from './keys.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import { settleOrExplain } from './settle-or-explain.ts';
import type { StoreReply, StoreRequest } from './worker-message.ts';

/** Well inside the second within which a change by another process must be seen. */
const pollMs = 250;

/**
 * The store's thread: SQLite's calls wait for the disk, and here nobody else waits with them.
 * `openStore` starts it with the path of the database file.
 */
async function run(port: MessagePort, file: string): Promise<void> {
  const reply = (message: StoreReply) => port.postMessage(message);
  let database: OpenDatabase;
  try {
    database = await openDatabase({ file, missing: 'create' });
  } catch (error) {
    reply({ kind: 'unusable', message: messageOf(error) });
    port.close();
    return;
  }
  const poll = watchForChanges(database, () => reply({ kind: 'changed' }));
  port.on('message', (request: StoreRequest) => {
    switch (request.kind) {
      case 'settle':
        void settleOrExplain(database.queries, request.outcomes).then((result) =>
          reply({ kind: 'settled', ...result }),
        );
        break;
      case 'find':
        void answer(database, request.hash).then(reply);
        break;
      case 'close':
        clearInterval(poll);
        void database.close().finally(() => port.close());
        break;
    }
  });
  reply({ kind: 'ready' });
}

async function answer(database: OpenDatabase, hash: string): Promise<StoreReply> {
  try {
    return { kind: 'found', hash, credential: await findCredential(database.queries, hash) };
  } catch (error) {
    return { kind: 'not-searched', hash, message: messageOf(error) };
  }
}

/** Our own commits do not change the version, those of every other connection do (https://sqlite.org/pragma.html#pragma_data_version). */
function watchForChanges(database: OpenDatabase, changed: () => void): NodeJS.Timeout {
  let seen = database.dataVersion();
  return setInterval(() => {
    const version = database.dataVersion();
    if (version === seen) return;
    seen = version;
    changed();
  }, pollMs);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (parentPort) await run(parentPort, String(workerData));
