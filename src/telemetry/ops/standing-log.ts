import type { Logger } from 'pino';

/** How the store fares, as far as a log tells (`StoreStatus` of the store). */
export interface LoggedStatus {
  readonly database: 'here' | 'behind' | 'away';
  readonly journalBytes: number;
  readonly hasRoom: boolean;
  readonly message?: string;
}

/** Logs when the database goes and comes back, when the journal is full, and what went wrong: a line per change, not per row. */
export function createStoreLog(log: Pick<Logger, 'info' | 'warn' | 'error'>): (status: LoggedStatus) => void {
  let last: LoggedStatus = { database: 'here', journalBytes: 0, hasRoom: true };
  return (status) => {
    const { database, journalBytes, hasRoom, message } = status;
    const facts = { journalBytes, ...(message === undefined ? {} : { error: message }) };
    if (database !== last.database) {
      if (database === 'away') log.warn(facts, 'the database is away: rows go to the journal');
      else if (database === 'behind') log.info(facts, 'the database is back: settling the rows of the journal');
      else if (last.database !== 'here') log.info(facts, 'the database has every row');
    } else if (message !== undefined) log.warn(facts, 'store problem');
    if (hasRoom !== last.hasRoom) {
      if (hasRoom) log.info(facts, 'the journal has room again');
      else log.error(facts, 'the journal is full: new requests are refused');
    }
    last = status;
  };
}
