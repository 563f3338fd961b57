import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { Agent } from 'undici';
import { expect } from 'vitest';
import type { ProgrammableEngine } from '../programmable-engine/engine.ts';
import { readOpsAddresses } from '../../src/process/ops-addresses.ts';
import { metricIn } from './metric-in.ts';
import { roomyKey } from './roomy-key.ts';
import { checkMessagesStream } from './messages-stream-checker.ts';
import { checkResponsesStream } from './responses-stream-checker.ts';
import { recordFetch } from './recorded-fetch.ts';
import { gatewayEnvironment } from './program-environment.ts';
import { runWeir } from './run-weir.ts';
import { socketsIn } from './start.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

/**
 * The official clients. Four of five files use neither, and the two libraries are a third of what a file loads, so each is loaded for
 * its first client. The path is that of `import`, so that a test which imports a library gets the same classes.
 */
const load = (name: string): unknown => createRequire(import.meta.url)(fileURLToPath(import.meta.resolve(name)));
const newOpenAI = (options: ConstructorParameters<typeof OpenAI>[0]): OpenAI =>
  new (load('openai') as typeof import('openai')).OpenAI(options);
const newAnthropic = (options: ConstructorParameters<typeof Anthropic>[0]): Anthropic =>
  new (load('@anthropic-ai/sdk') as typeof import('@anthropic-ai/sdk')).Anthropic(options);

/** A ledger row as `weir usage --requests --json` prints it. */
export type LedgerRow = Readonly<Record<string, unknown>>;

/** A whole gateway, started as users start it, with a folder of its own. */
export interface Weir {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly origin: string;
  readonly key: string;
  readonly data: string;
  readonly manifests: string;
  /** `http://127.0.0.1:PORT/metrics` */
  readonly opsUrl: string;
  readonly supervisor: ChildProcess;
  /** Remembers every answer, so that `close` can look for what must not be in any. */
  readonly fetch: typeof globalThis.fetch;
  /** An official client without retries of its own. */
  readonly client: (options?: { readonly apiKey?: string }) => OpenAI;
  /** Has `close` look through texts that `fetch` did not receive. */
  readonly watch: (text: () => string) => void;
  /** POSTs a chat completion. */
  readonly chat: (body: object | string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  /** The other format's official client, without retries of its own. */
  readonly messagesClient: (options?: { readonly apiKey?: string }) => Anthropic;
  /** POSTs to the messages surface. */
  readonly messages: (body: object | string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  readonly ledger: () => Promise<readonly LedgerRow[]>;
  /** Process ids of the running parts, by the command line's mark. */
  readonly pid: (part: 'service' | 'envoy') => number;
  /** The sum over all its labels; 0 while nothing was counted. */
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>;
  /** What Envoy's admin interface answers. */
  readonly admin: (path: string) => Promise<string>;
  /** Envoy's counts of requests on their way upstream that are not 0; its own stream of endpoint discovery is always there. */
  readonly activeUpstream: () => Promise<readonly string[]>;
  /** What the service has logged so far. */
  readonly log: () => string;
  readonly settled: () => Promise<void>;
  /** Ends everything and checks over all traffic and files of the run that nothing leaked. */
  readonly close: () => Promise<void>;
  /** Addresses that services left because their supervisor had to kill them. Complete after `close`. */
  readonly left: () => readonly string[];
}

export interface WeirOptions {
  /** Engines of the model `test/model`, in the order of their weight. */
  readonly engines?: readonly ProgrammableEngine[];
  /** Manifest files by name; default: one backend per engine and the model `test/model` over all of them. */
  readonly manifests?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of `weir start` in place of `--manifests`. */
  readonly flags?: readonly string[];
  /** Makes `key` one that no limit of rate or concurrency stops. */
  readonly unlimited?: true;
  /** Texts that no answer may hold, besides the engines' own marks. */
  readonly secrets?: readonly string[];
  /** Maximum number of open files of each program. Default: that of the tests. */
  readonly maxOpenFiles?: number;
}

/** A Workspace with money. */
export const teamManifest = `apiVersion: weir.dev/v1alpha1
kind: Workspace
metadata: {name: search-team}
spec: {maxInFlight: 256}
---
apiVersion: weir.dev/v1alpha1
kind: Credit
metadata: {name: order-8}
spec: {workspace: search-team, usd: "25", note: order 8}
`;

/** A Backend manifest for a programmable engine. */
export function backendManifest(name: string, engine: { readonly port: number }, kind = 'vllm'): string {
  return [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Backend',
    `metadata: {name: ${name}}`,
    `spec: {engine: ${kind}, endpoint: {host: 127.0.0.1, port: ${engine.port}, path: /v1}}`,
    '---',
    '',
  ].join('\n');
}

/** A Backend manifest for several programmable engines, each an endpoint of it. */
export function endpointsManifest(name: string, engines: readonly { readonly port: number }[], kind = 'vllm'): string {
  const endpoints = engines.map(({ port }) => `{host: 127.0.0.1, port: ${port}}`).join(', ');
  return [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Backend',
    `metadata: {name: ${name}}`,
    `spec: {engine: ${kind}, endpoints: [${endpoints}]}`,
    '---',
    '',
  ].join('\n');
}

/** A Model manifest over backends, the first one heaviest. */
export function modelManifest(id: string, backends: readonly string[], extra = '', firstWeight = 1000): string {
  const routes = backends.map(
    (backend, index) => `{backend: ${backend}, upstreamModel: demo-chat, weight: ${index === 0 ? firstWeight : 1}}`,
  );
  return [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Model',
    `metadata: {name: ${id.replace('/', '-')}}`,
    'spec:',
    `  id: ${id}`,
    '  ownedBy: test',
    '  added: "2026-06-01T00:00:00Z"',
    '  contextLength: 131072',
    '  pricing: {prompt: "0.00000015", completion: "0.0000006", inputCacheRead: "0.00000003"}',
    '  reasoning: {mode: Optional, efforts: [low, medium, high, max]}',
    `  routes: [${routes.join(', ')}]`,
    extra,
    '---',
    '',
  ].join('\n');
}

function usualManifests(engines: readonly ProgrammableEngine[]): Readonly<Record<string, string>> {
  const names = engines.map((_, index) => `backend-of-test-${index}`);
  const backends = engines.map((engine, index) => backendManifest(names[index] ?? '', engine)).join('');
  // A machine that is busy for a moment would make for a second request now and then, and requests are counted.
  return { 'catalog.yaml': backends + modelManifest('test/model', names, '  hedging: {mode: Disabled}') };
}

/** The command with a limit of open files, which every POSIX shell can set for a program before it starts. */
function limitFiles(command: readonly string[], maxOpenFiles: number | undefined): readonly string[] {
  return maxOpenFiles === undefined
    ? command
    : ['sh', '-c', 'ulimit -n "$0" && exec "$@"', String(maxOpenFiles), ...command];
}

/** Collects what is printed. `ready` resolves with the `ready` line; it rejects with everything when the process ends before. */
function listenTo(child: ChildProcess): { readonly ready: Promise<void>; readonly printed: () => string } {
  let printed = '';
  const ready = new Promise<void>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (/^ready \S+$/m.test(printed)) resolve();
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    child.once('exit', (code) => reject(new Error(`weir start ended with ${String(code)}: ${printed}`)));
  });
  return { ready, printed: () => printed };
}

const field = (printed: string, name: string): string => new RegExp(`^${name} +(\\S+)$`, 'm').exec(printed)?.[1] ?? '';

function filesBelow(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Put into every content field that a test sends; nothing of it may be left in a file, a log or a metric. */
export const canary = 'CANARY-b7d1f0-content';

/** Starts a gateway and resolves when it is ready. */
export async function startWeir(options: WeirOptions = {}): Promise<Weir> {
  const { engines = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), 'weir-'));
  const data = join(folder, 'data');
  const manifests = join(folder, 'manifests');
  mkdirSync(manifests);
  for (const [name, text] of Object.entries(options.manifests ?? usualManifests(engines))) {
    writeFileSync(join(manifests, name), text);
  }
  const flags = options.flags ?? ['--manifests', manifests];
  const command = [process.execPath, main, 'start', '--port', '0', '--no-portal', '--data', data, ...flags];
  const [program = '', ...args] = limitFiles(command, options.maxOpenFiles);
  const child = spawn(program, args, {
    env: gatewayEnvironment({ WEIR_OPS_PORT: '0', WEIR_ADMIN_PORT: '0', ...options.env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const output = listenTo(child);
  await output.ready;
  const printed = output.printed();
  const baseUrl = field(printed, 'ready');
  const key = options.unlimited === true ? await roomyKey({ data }) : field(printed, 'key:');
  const log = (): string => readFileSync(join(data, 'logs', 'service.log'), 'utf8');
  /** Where the latest life of the service is: another program may have taken the port of the one before. */
  const opsUrl = (): string => {
    const text = log();
    const at = text.lastIndexOf('"opsPort":');
    const port = /^"opsPort":(\d+)/.exec(text.slice(at))?.[1];
    return port === undefined ? field(printed, 'ops:') : `http://127.0.0.1:${port}/metrics`;
  };
  // Its own pool, so that nothing is left open when the file is over.
  const dispatcher = new Agent({ keepAliveTimeout: 1000, connections: null, bodyTimeout: 0, headersTimeout: 0 });
  const { fetch, texts, namedStreams } = recordFetch(dispatcher);
  const watched: (() => string)[] = [];
  let closing: Promise<void> | undefined;
  let left: readonly string[] = [];
  const secrets = [
    ...engines.flatMap((engine) => engine.marks),
    ...(options.secrets ?? []),
    'backend-of-test',
    'demo-chat',
  ];

  const metricsText = async (): Promise<string> => {
    const options: object = { dispatcher };
    return (await globalThis.fetch(opsUrl(), options)).text();
  };
  const metric = async (name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> =>
    metricIn(await metricsText(), name, labels);

  return {
    baseUrl,
    origin: new URL(baseUrl).origin,
    key,
    data,
    manifests,
    get opsUrl() {
      return opsUrl();
    },
    supervisor: child,
    fetch,
    client: ({ apiKey = key } = {}) => newOpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0, fetch }),
    watch: (text) => void watched.push(text),
    chat: (body, headers = {}) =>
      fetch(`${baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    messagesClient: ({ apiKey = key } = {}) =>
      newAnthropic({ baseURL: new URL(baseUrl).origin, apiKey, authToken: null, maxRetries: 0, fetch }),
    messages: (body, headers = {}) =>
      fetch(`${baseUrl}/messages`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    ledger: async () => {
      const { stdout, stderr, code } = await runWeir([
        'usage',
        '--requests',
        '--json',
        '--data',
        data,
        '--limit',
        '10000',
      ]);
      expect(stderr).toBe('');
      expect(code).toBe(0);
      return JSON.parse(stdout) as readonly LedgerRow[];
    },
    pid: (part) => {
      const marks = part === 'envoy' ? ['bootstrap.json'] : ['main.ts serve'];
      for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        const command = readCommand(entry);
        if (marks.every((mark) => command.includes(mark)) && command.includes(folder)) return Number(entry);
      }
      throw new Error(`no ${part} of this run is alive`);
    },
    metric,
    admin: (path) => askAdmin(join(data, 'run', 'admin.sock'), path),
    activeUpstream: async () => {
      const lines = await askAdmin(join(data, 'run', 'admin.sock'), '/stats?filter=upstream_rq_(pending_)?active$');
      return lines
        .split('\n')
        .filter((line) => line !== '' && !line.endsWith(': 0') && !line.startsWith('cluster.weir-discovery.'));
    },
    log,
    settled: async () => {
      await expect.poll(() => metric('weir_requests_in_flight')).toBe(0);
    },
    close: () => (closing ??= close()),
    left: () => left,
  };

  async function close(): Promise<void> {
    const metrics = await metricsText().catch(() => '');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await dispatcher.close();
    const received = [...texts(), ...watched.map((text) => text())];
    for (const text of received) for (const secret of secrets) expect(text).not.toContain(secret);
    for (const stream of namedStreams('messages')) checkMessagesStream(stream);
    for (const stream of namedStreams('responses')) checkResponsesStream(stream);
    expect(metrics).not.toContain(canary);
    expect(output.printed()).not.toContain(canary);
    for (const file of filesBelow(data)) expect(readFileSync(file).includes(canary), file).toBe(false);
    expect(socketsIn(data)).toEqual([]);
    left = readOpsAddresses(data, 'services');
    rmSync(folder, { recursive: true });
  }
}

/** What Envoy's admin interface answers on its socket. */
export async function askAdmin(socketPath: string, path: string): Promise<string> {
  const asked = request({ socketPath, path, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return text(response);
}

function readCommand(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
