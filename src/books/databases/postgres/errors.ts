import { isAbortedTransactionError } from 'kysely';
import { DatabaseError } from 'pg';
import { CommitInDoubt, type DatabaseErrorKind } from '../database.ts';

/** SQLSTATE classes for invalid values: data exception, integrity constraint (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const refusedClasses = new Set(['22', '23']);
/** Serialization failure, deadlock. */
const againCodes = new Set(['40001', '40P01']);
/** SQLSTATE classes that waiting cannot solve: wrong password or name, no such database, no permission. */
const hopelessClasses = new Set(['28', '3D', '42', '0A']);

/** Protocol violation: a pooler refuses a parameter of the connection. */
const hopelessCodes = new Set(['08P01']);

/** Errors of a server that is not up yet, or down; every other code, such as that of a bad certificate, is a mistake in the settings. */
const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'ENOENT'],
]);

/** The meaning of an error for its statement. */
export function kindOf(error: unknown): DatabaseErrorKind {
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return 'refused';
  if (!(error instanceof DatabaseError)) return 'down';
  const { code = '' } = error;
  if (againCodes.has(code)) return 'again';
  return refusedClasses.has(code.slice(0, 2)) ? 'refused' : 'down';
}

/**
 * Whether an error of a commit is the server's answer that nothing of the transaction is kept. A server that ends a
 * connection may send its error after it has committed.
 */
export function isRolledBack(error: unknown): boolean {
  return isAbortedTransactionError(error) || (error instanceof DatabaseError && kindOf(error) !== 'down');
}

/** Whether waiting cannot solve why a database was not opened. */
export function isHopeless(error: unknown): boolean {
  if (error instanceof CommitInDoubt) return false;
  if (error instanceof DatabaseError) {
    const { code = '' } = error;
    return hopelessClasses.has(code.slice(0, 2)) || hopelessCodes.has(code);
  }
  if (!(error instanceof Error)) return false;
  // An error without a code is from the driver, about a connection that broke or timed out, or from Weir, about a URL,
  // a file or the tables.
  return 'code' in error ? !networkCodes.has(String(error.code)) : !/timeout|terminated|closed/i.test(error.message);
}
