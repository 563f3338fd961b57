import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubeRequest } from './request.ts';
import { kubeTool } from './tools.ts';

/** All that a client of an API server needs. The user is in `system:masters`. */
export interface KubeConnection {
  readonly url: string;
  readonly token: string;
  /** Path of the server's own certificate, which is also the authority to trust. */
  readonly caFile: string;
  /** Path of a kubeconfig that says all this. */
  readonly kubeconfig: string;
}

/** A kube-apiserver of our own on an etcd of our own: a cluster without nodes and without controllers. */
export interface KubeApiServer extends KubeConnection {
  /** Ends the API server with SIGKILL; etcd keeps what it knows. Resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** Starts it again, on the same port and data. Resolves when it is ready. */
  readonly start: () => Promise<void>;
  /** Stops the API server where it is, so that it says nothing any more. Resolves when every thread of it stands still. */
  readonly freeze: () => Promise<void>;
  /** Lets it go on. */
  readonly thaw: () => void;
  /** Has etcd forget all but the newest revision: after a restart older ones are answered with 410. */
  readonly compact: () => Promise<void>;
  /** Keeps a copy of etcd's data. Both restart. */
  readonly backUp: () => Promise<void>;
  /** Gives etcd the data of the copy, with the objects and versions of then. Both restart. */
  readonly restore: () => Promise<void>;
  /** Ends both and removes their data. */
  readonly close: () => Promise<void>;
}

const readyMs = 90_000;
const user = 'test-admin';

/** Makes and starts one; takes about three seconds and 300 MB. Rejects with the end of the logs when it does not come up. */
export async function startKubeApiServer(): Promise<KubeApiServer> {
  // Short: the path of etcd's socket, which is inside, may not be longer than about 100 characters.
  const folder = mkdtempSync(join(tmpdir(), 'weir-kube-'));
  const at = (name: string): string => join(folder, name);
  const token = randomBytes(16).toString('hex');
  writeFileSync(at('tokens.csv'), `${token},${user},${user},system:masters\n`, { mode: 0o600 });
  signingKey(at('sa.key'));
  const port = await freePort();
  const connection = {
    ...{ url: `https://127.0.0.1:${port}`, token, caFile: at('certs/apiserver.crt'), kubeconfig: at('kubeconfig') },
  };
  writeFileSync(connection.kubeconfig, kubeconfigOf(connection), { mode: 0o600 });

  const startEtcd = (): ChildProcess =>
    run(folder, 'etcd', [
      ...['--name', 'test', '--data-dir', 'etcd', '--log-level', 'warn'],
      // The data is thrown away: it need not wait for the disk.
      ...['--unsafe-no-fsync', '--listen-peer-urls', 'http://127.0.0.1:0'],
      ...['--listen-client-urls', 'unix://etcd.sock:0', '--advertise-client-urls', 'unix://etcd.sock:0'],
    ]);
  let etcd = startEtcd();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = run(folder, 'kube-apiserver', [
      ...['--etcd-servers', 'unix://etcd.sock:0', '--cert-dir', 'certs', '--token-auth-file', 'tokens.csv'],
      ...['--bind-address', '127.0.0.1', '--advertise-address', '127.0.0.1', '--secure-port', String(port)],
      ...['--authorization-mode', 'RBAC', '--service-account-issuer', 'https://kubernetes.default.svc'],
      ...['--service-account-key-file', 'sa.key', '--service-account-signing-key-file', 'sa.key'],
      ...['--service-cluster-ip-range', '10.0.0.0/24', '--endpoint-reconciler-type', 'none'],
      // Nobody here makes the service accounts that this plug-in asks for.
      ...['--disable-admission-plugins', 'ServiceAccount', '--allow-privileged=true'],
    ]);
    const until = performance.now() + readyMs;
    while (!(await isReady(connection))) {
      const dead = [etcd, server].some((child) => child.exitCode !== null || child.signalCode !== null);
      if (dead || performance.now() > until) throw new Error(`the API server did not start:\n${lastLines(folder)}`);
      await sleep(100);
    }
  }

  async function copyData(from: string, to: string): Promise<void> {
    await end(server);
    await end(etcd);
    rmSync(at(to), { recursive: true, force: true });
    cpSync(at(from), at(to), { recursive: true });
    rmSync(at('etcd.sock:0'), { force: true });
    etcd = startEtcd();
    await start();
  }

  async function close(): Promise<void> {
    await end(server);
    await end(etcd);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...connection,
    kill: () => end(server),
    start,
    freeze: () => freeze(server),
    thaw: () => server?.kill('SIGCONT'),
    compact: () => compact(at('etcd.sock:0')),
    backUp: () => copyData('etcd', 'etcd-backup'),
    restore: () => copyData('etcd-backup', 'etcd'),
    close,
  };
}

/** The kernel stops a busy process when one of its threads has its turn: until then the others go on. */
async function freeze(server: ChildProcess | undefined): Promise<void> {
  if (server?.pid === undefined) return;
  server.kill('SIGSTOP');
  const { pid } = server;
  const isRunning = (thread: string): boolean =>
    !/^State:\s+T/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'));
  while (readdirSync(`/proc/${pid}/task`).some(isRunning)) await sleep(5);
}

/** In the folder, because the socket's name is relative. Where the system can, it dies with us even if we are killed. */
function run(folder: string, tool: 'etcd' | 'kube-apiserver', parameters: readonly string[]): ChildProcess {
  const log = openSync(join(folder, `${tool}.log`), 'a');
  const dieWithUs = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  const [program = '', ...rest] = [...dieWithUs, kubeTool(tool), ...parameters];
  const child = spawn(program, rest, { cwd: folder, stdio: ['ignore', log, log] });
  child.once('error', () => undefined);
  closeSync(log);
  return child;
}

/** With SIGKILL: the data is thrown away, and an API server that has lost its etcd can take a minute to heed SIGTERM. */
async function end(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function isReady(connection: KubeConnection): Promise<boolean> {
  try {
    return (await kubeRequest(connection, 'GET', '/readyz')).status === 200;
  } catch {
    return false; // It does not listen yet, or its certificate is not written.
  }
}

/** etcd speaks JSON over HTTP too; revisions are decimal text there. */
async function compact(socketPath: string): Promise<void> {
  const call = async (path: string, body: object): Promise<unknown> => {
    const asked = request({ socketPath, path, method: 'POST', agent: false });
    asked.end(JSON.stringify(body));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const text = Buffer.concat(await Array.fromAsync(answer)).toString();
    if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode} to ${path}: ${text}`);
    return JSON.parse(text);
  };
  const { header } = (await call('/v3/kv/range', { key: btoa('\0') })) as { header: { revision: string } };
  await call('/v3/kv/compaction', { revision: header.revision, physical: true });
}

function signingKey(path: string): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(path, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
}

function kubeconfigOf({ url, caFile, token }: Omit<KubeConnection, 'kubeconfig'>): string {
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'default' } }],
  });
}

function lastLines(folder: string): string {
  const tail = (name: string): string => {
    try {
      return readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').slice(-15).join('\n');
    } catch {
      return 'no log';
    }
  };
  return `${tail('etcd.log')}\n${tail('kube-apiserver.log')}`;
}

/** A port that nobody has now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
