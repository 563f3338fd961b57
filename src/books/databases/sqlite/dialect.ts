import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { CommitInDoubt } from '../database.ts';
import type { SqliteConnection, SqliteStatement } from '../machine.ts';
import { putNewest } from '../../../core/put-newest.ts';

/** How many compiled statements are kept. There is a limit because batches of different sizes are different statements. */
const keptStatements = 200;

interface Prepared {
  readonly statement: SqliteStatement;
  readonly returnsRows: boolean;
}

/** Kysely over one open `node:sqlite` database. Kysely's `destroy` closes the database. */
export function sqliteDialect(database: SqliteConnection): Dialect {
  return {
    createDriver: () => sqliteDriver(database),
    createAdapter: () => new TransactionalSqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
  };
}

/** Declares to Kysely that SQLite rolls back schema changes too, so that a migration that is killed half way leaves no trace. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function sqliteDriver(database: SqliteConnection): Driver {
  const connection = sqliteConnection(database);
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    // A writer waits for the write lock at the beginning. A transaction that reads first and writes later cannot wait:
    // when another process wrote in between, it fails at once (https://sqlite.org/isolation.html).
    beginTransaction: async (_, { accessMode }) =>
      database.exec(accessMode === 'read only' ? 'begin deferred' : 'begin immediate'),
    commitTransaction: async () => {
      try {
        database.exec('commit');
      } catch (error) {
        // An open transaction is rolled back. If SQLite has ended it, the file may have the commit: when only its sync
        // fails, it counts again after a crash.
        throw database.isTransaction ? error : new CommitInDoubt(error);
      }
    },
    rollbackTransaction: async () => {
      // A full disk makes SQLite roll back by itself; a second rollback would hide the reason.
      if (database.isTransaction) database.exec('rollback');
    },
    destroy: async () => database.close(),
  };
}

function sqliteConnection(database: SqliteConnection): DatabaseConnection {
  const statements = new Map<string, Prepared>();

  function prepared(sql: string): Prepared {
    const kept = statements.get(sql);
    if (kept) return kept;
    const statement = database.prepare(sql, { readBigInts: true });
    const made = { statement, returnsRows: statement.columns().length > 0 };
    putNewest(statements, keptStatements, [sql, made]);
    return made;
  }

  return {
    executeQuery: async <Row>(query: CompiledQuery): Promise<QueryResult<Row>> => {
      const { statement, returnsRows } = prepared(query.sql);
      const values = query.parameters.map(inputValue);
      if (returnsRows) return { rows: statement.all(...values).map(asRow<Row>) };
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    },
    streamQuery: async function* <Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
      const { statement } = prepared(query.sql);
      for (const row of statement.iterate(...query.parameters.map(inputValue))) yield { rows: [asRow<Row>(row)] };
    },
  };
}

function asRow<Row>(row: Record<string, SQLOutputValue>): Row {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Kysely derives the row's type from the query it built; a driver passes it on.
  return row as Row;
}

/** Binds whole numbers as integers: `node:sqlite` would bind them as doubles, and `a / b` would not be an integer division. */
function inputValue(value: unknown): SQLInputValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'bigint' || value === null) return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`A ${typeof value} cannot be a value of a query.`);
}
