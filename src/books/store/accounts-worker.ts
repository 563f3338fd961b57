/** Runs operations on accounts in a thread of its own, with its own connection: reports for the portal, and what objects declare. */
import { Refusal } from '../core/administration.ts';
import { messageOf } from '../../core/failure.ts';
import type { AccountOperations, OperationArguments, OperationName, OperationResults } from './account-operations.ts';
import { type Accounts, openAccounts } from './open-accounts.ts';
import { CannotOpen, type DatabaseLocation } from '../databases/database.ts';

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

export function createFunctions(location: DatabaseLocation) {
  let opening: Promise<Accounts> | undefined;

  function accounts(): Promise<Accounts> {
    opening ??= openAccounts(location, { missing: 'refuse', user: 'operator' }).catch((error: unknown) => {
      // The next operation tries again.
      opening = undefined;
      throw error;
    });
    return opening;
  }

  return {
    operate: async (ask: AccountsAsk): Promise<AccountsReply> => {
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
    },
  };
}

async function run<Name extends OperationName>(
  opened: AccountOperations<Name>,
  { name, given }: AccountsAsk<Name>,
): Promise<AccountsAnswer<Name>> {
  return { kind: 'done', name, result: await opened[name](...given) };
}
