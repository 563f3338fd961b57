/** Runs operations on accounts in a thread of its own, with its own connection: reports for the portal, and what objects declare. */
import { parentPort, workerData } from 'node:worker_threads';
import type { AccountsAnswer, AccountsAsk, AccountsReply, AccountsWorkerData } from './accounts-thread.ts';
import { Refusal } from '../core/administration.ts';
import { messageOf } from '../../core/failure.ts';
import type { ThreadMessage } from '../../core/worker-thread.ts';
import type { AccountOperations, OperationName } from './account-operations.ts';
import { type Accounts, openAccounts } from './open-accounts.ts';
import { CannotOpen } from '../databases/database.ts';

let opening: Promise<Accounts> | undefined;

function accounts(): Promise<Accounts> {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `openAccountsThread`, which starts this thread, is typed to give exactly this.
  const { location } = workerData as AccountsWorkerData;
  opening ??= openAccounts(location, { missing: 'refuse', user: 'operator' }).catch((error: unknown) => {
    // The next operation tries again.
    opening = undefined;
    throw error;
  });
  return opening;
}

async function answer(ask: AccountsAsk): Promise<AccountsReply> {
  let isDown = (error: unknown): boolean => error instanceof CannotOpen && error.kind === 'down';
  try {
    const opened = await accounts();
    isDown = opened.isDown;
    return await run(opened, ask);
  } catch (error) {
    if (error instanceof Refusal)
      return { kind: 'refused', as: error.kind, sentence: error.sentence, field: error.field };
    return { kind: isDown(error) ? 'down' : 'failed', message: messageOf(error) };
  }
}

async function run<Name extends OperationName>(
  opened: AccountOperations<Name>,
  { name, given }: AccountsAsk<Name>,
): Promise<AccountsAnswer<Name>> {
  return { kind: 'done', name, result: await opened[name](...given) };
}

parentPort?.on('message', ({ id, ask }: ThreadMessage<AccountsAsk>) => {
  void answer(ask).then((reply) => parentPort?.postMessage({ id, reply }));
});
