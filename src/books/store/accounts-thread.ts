import { DatabaseDown } from '../core/administration.ts';
import { Refusal } from '../core/operator-refusals.ts';
import { startThread } from '../../process/worker-thread.ts';
import type { AccountOperations, OperationName, OperationResults } from './account-operations.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import type { AccountsAnswer, AccountsReply, createFunctions } from './accounts-worker.ts';
import { operationsOf } from './operation-names.ts';

interface ThreadLimits {
  readonly name: string;
  /** Longest time of an operation. After this time the thread is ended, and the next operation gets a new thread. */
  readonly silenceMs: number;
  /** The thread ends after this time without an operation. */
  readonly idleMs: number;
  /** Its operations take long and can wait while callers need the processor. */
  readonly isLowPriority?: boolean;
}

/** Few operations run at a time, and their objects are small. */
const maxYoungMb = 4;

/**
 * Runs operations of a group in a thread of its own, with its own connection, because SQLite blocks its thread during an
 * operation.
 */
export function openAccountsThread<Some extends OperationName>(
  location: DatabaseLocation,
  group: Readonly<Record<Some, unknown>>,
  limits: ThreadLimits,
): { readonly store: AccountOperations<Some>; readonly close: () => Promise<void> } {
  const module = new URL('./accounts-worker.ts', import.meta.url);
  const thread = startThread<typeof createFunctions>({ module, data: location, maxYoungMb, ...limits });
  return {
    store: operationsOf(group, async (name, given) => resultOf(await thread.call('operate', [name, given]), name)),
    close: thread.close,
  };
}

function resultOf<Name extends OperationName>(reply: AccountsReply, name: Name): OperationResults[Name] {
  switch (reply.kind) {
    case 'refused':
      throw new Refusal(reply.code, reply.parts, { field: reply.field });
    case 'down':
      throw new DatabaseDown(reply.message);
    case 'failed':
      throw new Error(reply.message);
    case 'done':
      if (isOf(reply, name)) return reply.result;
      throw new Error(`the thread of accounts answered ${reply.name} to ${name}`);
  }
}

function isOf<Name extends OperationName>(reply: AccountsAnswer, name: Name): reply is AccountsAnswer<Name> {
  return reply.name === name;
}
