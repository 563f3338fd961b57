import { DatabaseDown, Refusal } from '../core/administration.ts';
import { startThread } from '../../process/worker-thread.ts';
import type { AccountOperations, OperationArguments, OperationName, OperationResults } from './account-operations.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import { operationsOf } from './operation-names.ts';

/** A message to the thread of accounts: which operation to run, and its arguments. */
export interface AccountsAsk<Name extends OperationName = OperationName> {
  readonly name: Name;
  readonly given: OperationArguments[Name];
}

export interface AccountsAnswer<Name extends OperationName = OperationName> {
  readonly kind: 'done';
  readonly name: Name;
  readonly result: OperationResults[Name];
}

export type AccountsReply =
  | AccountsAnswer
  /** A `Refusal` as fields, because messages between threads lose the class. */
  | {
      readonly kind: 'refused';
      readonly as: Refusal['kind'];
      readonly sentence: string;
      readonly field: string | undefined;
    }
  | { readonly kind: 'down'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

export interface AccountsWorkerData {
  readonly location: DatabaseLocation;
}

interface ThreadLimits {
  readonly name: string;
  /** Longest time of an operation. After this time the thread is ended, and the next operation gets a new thread. */
  readonly silenceMs: number;
  /** The thread ends after this time without an operation. */
  readonly idleMs: number;
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
  const workerData: AccountsWorkerData = { location };
  const thread = startThread<AccountsAsk, AccountsReply>({
    script: new URL('./accounts-worker.ts', import.meta.url),
    workerData,
    maxYoungMb,
    ...limits,
  });
  return {
    store: operationsOf(group, async (name, given) => resultOf(await thread.ask({ name, given }), name)),
    close: thread.close,
  };
}

function resultOf<Name extends OperationName>(reply: AccountsReply, name: Name): OperationResults[Name] {
  switch (reply.kind) {
    case 'refused':
      throw new Refusal(reply.sentence, {
        kind: reply.as,
        ...(reply.field !== undefined && { field: reply.field }),
      });
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
