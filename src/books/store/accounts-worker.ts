/** Runs operations on accounts in a thread of its own, with its own connection: reports for the portal, and what objects declare. */
import { Refusal } from '../core/operator-refusals.ts';
import { messageOf } from '../../core/failure.ts';
import type { AccountOperations, OperationArguments, OperationName, OperationResults } from './account-operations.ts';
import { type Accounts, openAccounts } from './open-accounts.ts';
import { CannotOpen, type DatabaseLocation } from '../databases/database.ts';

/** The result of an operation, whose name tells its type. */
export interface AccountsAnswer<Name extends OperationName = OperationName> {
  readonly kind: 'done';
  readonly name: Name;
  readonly result: OperationResults[Name];
}

export type AccountsReply =
  | AccountsAnswer
  /** A `Refusal` as fields, because messages between threads lose the class. */
  | ({ readonly kind: 'refused' } & Pick<Refusal, 'code' | 'parts' | 'field'>)
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
    operate: async (name: OperationName, given: OperationArguments[OperationName]): Promise<AccountsReply> => {
      let isDown = (error: unknown): boolean => error instanceof CannotOpen && error.kind === 'down';
      try {
        const opened = await accounts();
        isDown = opened.isDown;
        return { kind: 'done', name, result: await run(opened, name, given) };
      } catch (error) {
        if (error instanceof Refusal)
          return { kind: 'refused', code: error.code, parts: error.parts, field: error.field };
        return { kind: isDown(error) ? 'down' : 'failed', message: messageOf(error) };
      }
    },
  };
}

const run = <Name extends OperationName>(
  opened: AccountOperations<Name>,
  name: Name,
  given: OperationArguments[Name],
) => opened[name](...given);
