import { Buffer } from 'node:buffer';
import type { SQLInputValue } from 'node:sqlite';
import type { SqliteConnection, SqliteStatement } from '../../src/books/databases/machine.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the C API of the module has no types that its structs can be used with.
export type Api = any;

interface ConnectionOptions {
  readonly readOnly?: boolean;
  readonly timeout?: number;
  readonly enableForeignKeyConstraints?: boolean;
  /** The VFS, by its name. */
  readonly vfsName: string;
  /** Runs SQLite on behalf of the program that has the connection. */
  readonly run: <Result>(work: () => Result) => Result;
  /** The open ones, each with a function that closes it. */
  readonly connections: Map<number, () => void>;
  readonly losesCommit: (() => boolean) | undefined;
}

const textIn = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString();

/** Opens a connection in the manner of `node:sqlite`. */
export function openConnection(api: Api, path: string, options: ConnectionOptions): SqliteConnection {
  const { capi, wasm } = api;
  // The functions themselves: those of `capi` check every value.
  const raw: Api = wasm.exports;
  const { connections, vfsName } = options;
  let isOpen = true;
  // Looked up once: each of them is a property of an object with thousands.
  const { SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB, SQLITE_DONE, SQLITE_ROW } = capi;

  function failure(database: number, code: number): Error {
    const message: string = database === 0 ? capi.sqlite3_js_rc_str(code) : capi.sqlite3_errmsg(database);
    const extended: number = database === 0 ? code : raw.sqlite3_extended_errcode(database);
    return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode: extended });
  }

  const scope = wasm.scopedAllocPush();
  const target: number = wasm.scopedAllocPtr();
  const flags =
    options.readOnly === true ? capi.SQLITE_OPEN_READONLY : capi.SQLITE_OPEN_READWRITE | capi.SQLITE_OPEN_CREATE;
  const code: number = capi.sqlite3_open_v2(path, target, flags, vfsName);
  const database: number = wasm.peekPtr(target);
  wasm.scopedAllocPop(scope);
  if (code !== 0) {
    const error = failure(database, code);
    capi.sqlite3_close_v2(database);
    throw error;
  }
  connections.set(database, close);
  const statements = new Set<number>();

  function run<Result>(work: () => Result): Result {
    // Code that follows the death of its program in the same turn would use memory that is free.
    if (!isOpen) throw new Error('the connection is closed');
    return options.run(work);
  }

  /** With its statements: a connection that has some stays in memory for ever. */
  function close(): void {
    run(() => {
      for (const statement of statements) capi.sqlite3_finalize(statement);
      statements.clear();
      connections.delete(database);
      capi.sqlite3_close_v2(database);
    });
    isOpen = false;
  }

  function exec(sql: string): void {
    run(() => {
      const result: number = capi.sqlite3_exec(database, sql, 0, 0, 0);
      if (result !== 0) throw failure(database, result);
      if (sql === 'commit' && options.losesCommit?.() === true) throw failure(0, capi.SQLITE_IOERR_FSYNC);
    });
  }

  function prepare(sql: string, { readBigInts = false }: { readonly readBigInts?: boolean } = {}): SqliteStatement {
    const statement = run((): number => {
      const inner = wasm.scopedAllocPush();
      try {
        const out: number = wasm.scopedAllocPtr();
        const text: number = wasm.scopedAllocCString(sql);
        const result: number = capi.sqlite3_prepare_v3(database, text, -1, 0, out, 0);
        if (result !== 0) throw failure(database, result);
        return wasm.peekPtr(out);
      } finally {
        wasm.scopedAllocPop(inner);
      }
    });
    statements.add(statement);
    const width: number = raw.sqlite3_column_count(statement);
    const names: readonly string[] = Array.from({ length: width }, (_, at) => capi.sqlite3_column_name(statement, at));

    function bind(values: readonly SQLInputValue[]): void {
      for (const [index, value] of values.entries()) {
        const at = index + 1;
        let result: number;
        if (value === null) result = raw.sqlite3_bind_null(statement, at);
        else if (typeof value === 'bigint') result = raw.sqlite3_bind_int64(statement, at, value);
        else if (typeof value === 'number') result = raw.sqlite3_bind_double(statement, at, value);
        else {
          const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value as Uint8Array);
          const inner = wasm.scopedAllocPush();
          try {
            const source: number = wasm.scopedAlloc(bytes.length + 1);
            (wasm.heap8u() as Uint8Array).set(bytes, source);
            // -1: SQLite copies the bytes.
            const function_ = typeof value === 'string' ? raw.sqlite3_bind_text : raw.sqlite3_bind_blob;
            result = function_(statement, at, source, bytes.length, -1);
          } finally {
            wasm.scopedAllocPop(inner);
          }
        }
        if (result !== 0) throw failure(database, result);
      }
    }

    function bytesOf(at: number, from: number): Uint8Array {
      const length: number = raw.sqlite3_column_bytes(statement, at);
      return (wasm.heap8u() as Uint8Array).subarray(from, from + length);
    }

    function column(at: number) {
      switch (raw.sqlite3_column_type(statement, at)) {
        case SQLITE_INTEGER: {
          const value: bigint = raw.sqlite3_column_int64(statement, at);
          return readBigInts ? value : Number(value);
        }
        case SQLITE_FLOAT:
          return raw.sqlite3_column_double(statement, at) as number;
        case SQLITE_TEXT:
          return textIn(bytesOf(at, raw.sqlite3_column_text(statement, at)));
        case SQLITE_BLOB:
          return Uint8Array.from(bytesOf(at, raw.sqlite3_column_blob(statement, at)));
        default:
          return null;
      }
    }

    /** Runs the statement to its end, or to its first row. */
    function rowsOf(values: readonly SQLInputValue[], most: number) {
      return run(() => {
        const rows: Record<string, ReturnType<typeof column>>[] = [];
        try {
          bind(values);
          for (;;) {
            const result: number = raw.sqlite3_step(statement);
            if (result === SQLITE_DONE) return rows;
            if (result !== SQLITE_ROW) throw failure(database, result);
            const row: Record<string, ReturnType<typeof column>> = {};
            for (let at = 0; at < width; at += 1) row[names[at]!] = column(at);
            rows.push(row);
            if (rows.length >= most) return rows;
          }
        } finally {
          raw.sqlite3_reset(statement);
          raw.sqlite3_clear_bindings(statement);
        }
      });
    }

    return {
      all: (...values) => rowsOf(values, Infinity),
      get: (...values) => rowsOf(values, 1)[0],
      iterate: (...values) => rowsOf(values, Infinity),
      run: (...values) => {
        rowsOf(values, Infinity);
        return { changes: Number(raw.sqlite3_changes(database)) };
      },
      columns: () => names,
    };
  }

  capi.sqlite3_busy_timeout(database, options.timeout ?? 0);
  capi.sqlite3_extended_result_codes(database, 1);
  exec(`pragma foreign_keys = ${options.enableForeignKeyConstraints === false ? 'off' : 'on'}`);
  return {
    exec,
    prepare,
    get isTransaction() {
      return isOpen && raw.sqlite3_get_autocommit(database) === 0;
    },
    location: () => path,
    close,
  };
}
