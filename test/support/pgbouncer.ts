import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { findOrInstall } from './debian-package.ts';
import { freePort } from './free-port.ts';
import { stuckAfterMs } from './stuck-after.ts';
import { giveTo, unprivilegedUser } from './unprivileged-user.ts';

export interface PgBouncer {
  /** The URL of a database of the server, through the pooler. */
  readonly through: (url: string) => string;
  readonly close: () => Promise<void>;
}

/** Path of PgBouncer: that of PATH, else Debian's package. */
const findPgBouncer = (): Promise<string> =>
  findOrInstall({ program: 'pgbouncer', package: 'pgbouncer', folders: ['/usr/sbin'] });

/** Starts a PgBouncer in transaction mode before a server on this port, with its defaults otherwise. */
export async function startPgBouncer(serverPort: number): Promise<PgBouncer> {
  const program = await findPgBouncer();
  const user = unprivilegedUser(['postgres', 'nobody']);
  const folder = mkdtempSync(join(tmpdir(), 'weir-pgbouncer-'));
  giveTo(user, folder);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    ...['[databases]', `* = host=127.0.0.1 port=${serverPort}`, '[pgbouncer]', 'listen_addr = 127.0.0.1'],
    ...[`listen_port = ${port}`, 'auth_type = trust', `auth_file = ${join(folder, 'users.txt')}`],
    ...['unix_socket_dir =', 'pool_mode = transaction'],
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'users.txt'), '"weir" ""\n');
  const child: ChildProcess = spawn(program, ['-q', file], { ...user, cwd: folder, stdio: 'ignore' });
  const through = (url: string): string => url.replace(`:${serverPort}/`, `:${port}/`);
  const until = performance.now() + stuckAfterMs;
  for (;;) {
    const client = new Client({ connectionString: `postgres://weir@127.0.0.1:${port}/postgres` });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      break;
    } catch (error) {
      if (performance.now() > until || child.exitCode !== null)
        throw new Error('PgBouncer did not start', { cause: error });
      await sleep(30);
    }
  }
  return {
    through,
    close: async () => {
      if (child.exitCode === null) {
        const exit = once(child, 'exit');
        child.kill('SIGKILL');
        await exit;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
