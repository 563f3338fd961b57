// @suite waits
import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { type Ended, runWeir } from '../support/run-weir.ts';
import { newDataFolder, removeStarts, runStart, start, type Started } from '../support/start.ts';
import { giveTo, unprivilegedUser } from '../support/unprivileged-user.ts';
import { untilHolds } from '../support/until-holds.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest, teamManifest } from '../support/weir.ts';
import { pageCommands } from './support/page-commands.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import {
  answering,
  beginning,
  failing,
  goodTls,
  type SabotagedEngine,
  speak,
  startSabotagedEngine,
  well,
} from './support/sabotages/sabotaged-engine.ts';
import { mountSmallDisk, type SmallDisk } from './support/small-disk.ts';

// The incidents of docs/operate/incidents.md, followed by an operator who has the page alone: each is caused on real programs, and the
// commands are read from the page.

/** What a command of the page must print, and what happens before it is typed. */
interface Step {
  readonly prints: RegExp;
  readonly code?: number;
  readonly before?: () => Promise<unknown>;
}

interface Incident {
  /** The heading of the page. */
  readonly heading: string;
  readonly causes: () => Promise<unknown>;
  /** One for each command of the page that no cluster is needed for, in their order. */
  readonly steps: readonly Step[];
}

const { key, authority, good, expired } = engineCertificates;
const folder = mkdtempSync(join(tmpdir(), 'weir-incidents-'));
const manifests = join(folder, 'manifests');
const noProblems = /^No problems\.$/;

let server: Postgres;
let disk: SmallDisk | undefined;
let valkey: TestValkey;
let first: SabotagedEngine;
let second: SabotagedEngine;
let secure: SabotagedEngine;
let gateway: Started;
let env: Readonly<Record<string, string>>;
/** A gateway with SQLite and TLS, and the key of a caller of it. */
let edge: Started;
const edgeData = newDataFolder();

const catalog = (weight: number): string =>
  backendManifest('gpu-a', first) +
  backendManifest('gpu-b', second) +
  modelManifest('org/chat', ['gpu-a', 'gpu-b'], '  hedging: {mode: Disabled}', weight);

const team = `${teamManifest}---
apiVersion: weir.dev/v1alpha1
kind: ApiKey
metadata: {name: search-prod}
spec: {workspace: search-team, secretRef: {name: search-key}, rotation: {everyDays: 90, overlapHours: 24}}
`;

const secureCatalog = (): string => `apiVersion: v1
kind: Secret
metadata: {name: authority}
stringData: {ca.crt: ${JSON.stringify(authority)}}
---
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: gpu-a}
spec:
  engine: vllm
  endpoint: {host: 127.0.0.1, port: ${secure.port}, path: /v1}
  tls: {mode: Custom, caSecretRef: {name: authority, key: ca.crt}}
---
${modelManifest('org/chat', ['gpu-a'])}`;

/** The key of the callers, and that of the object. */
const callers = { demo: '', declared: '' };

let asked = 0;
async function ask(by: keyof typeof callers = 'demo'): Promise<Response> {
  asked += 1;
  const body = { model: 'org/chat', stream: true, messages: [{ role: 'user', content: `Hello ${asked}` }] };
  const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${callers[by]}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  });
  await answer.text().catch(() => '');
  return answer;
}
const statusOf = async (by: keyof typeof callers): Promise<number> => (await ask(by)).status;
const askMany = (count: number): Promise<unknown> => Promise.all(Array.from({ length: count }, () => ask()));

/** What the placeholders of the page's commands stand for in the incident that is followed. */
const names: Record<string, string> = {};

/** Commands that change nothing are typed until they print what the page says. */
const isReading = (command: string): boolean =>
  /^weir (problems|top|doctor|usage|explain|audit|ledger verify)/.test(command);

const fileOf = promisify(execFile);

async function type(command: string, environment: Readonly<Record<string, string>>): Promise<Ended> {
  const words = Object.entries(names)
    .reduce((text, [name, value]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), value), command)
    // The dates of the page are those of its example.
    .replaceAll(/(--since) \S+/g, `$1 ${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}`)
    .replaceAll(/(--until) \S+/g, `$1 ${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}`)
    .match(/"[^"]*"|\S+/g)
    ?.map((word) => word.replaceAll('"', ''));
  const [program = '', ...args] = words ?? [];
  if (program === 'weir') return runWeir(args, { env: environment, cwd: folder });
  const { stdout, stderr } = await fileOf(program, args, { cwd: folder });
  return { code: 0, stdout, stderr };
}

async function expectFollowed({ heading, causes, steps }: Incident, environment = env): Promise<void> {
  const commands = pageCommands(heading).filter((command) => !/^(kubectl|helm) /.test(command));
  expect(commands).toHaveLength(steps.length);
  await causes();
  for (const [at, { prints, code = 0, before }] of steps.entries()) {
    await before?.();
    const command = commands[at] ?? '';
    const typed = async (): Promise<string> => {
      const ended = await type(command, environment);
      return `${command}\n${ended.stdout}${ended.stderr}exit code ${ended.code}`;
    };
    const wanted = expect.stringMatching(new RegExp(`${prints.source}[^]*exit code ${code}$`, 'm')) as string;
    if (!isReading(command)) expect(await typed()).toEqual(wanted);
    else {
      await expect
        .poll(async () => {
          await Promise.all([ask(), ask()]).catch(() => undefined);
          return typed();
        })
        .toEqual(wanted);
    }
  }
}

const outOfMemory = speak(
  answering(failing(500, { message: 'CUDA out of memory. Tried to allocate 2.00 GiB', type: 'InternalServerError' })),
);
const breaksOff = speak(
  answering((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(beginning, () => response.destroy());
  }),
);

const keyIds = async (environment = env): Promise<readonly { readonly id: string; readonly name: string | null }[]> => {
  const { stdout } = await runWeir(['key', 'list', '--json'], { env: environment });
  return JSON.parse(stdout) as readonly { readonly id: string; readonly name: string | null }[];
};

const tls = () => ({
  WEIR_TLS_CERTIFICATE_FILE: join(folder, 'tls.crt'),
  WEIR_TLS_KEY_FILE: join(folder, 'tls.key'),
});
async function startEdge(): Promise<void> {
  const folderOfEdge = join(folder, 'secure');
  edge = await start(['--manifests', folderOfEdge, '--no-demo'], { data: edgeData, env: tls() });
}

const shared: readonly Incident[] = [
  {
    heading: 'Engine out of memory',
    causes: async () => {
      names['BACKEND'] = 'gpu-a';
      names['DIR'] = manifests;
      await first.turn(outOfMemory);
    },
    steps: [
      { prints: /^Backend\/gpu-a .* ran out of memory \(HTTP 500\)/ },
      {
        before: async () => {
          await first.turn(breaksOff);
          writeFileSync(join(manifests, 'catalog.yaml'), catalog(0));
          // Nobody is left with half an answer.
          await untilHolds(async () => (await statusOf('demo')) === 200);
        },
        prints: /^1 model, 2 backends, 2 routes: good$/,
      },
      { before: () => first.turn(speak(well)), prints: /^good: nothing contradicts the manifests/ },
      {
        // A drained Backend answers nobody, and its failures stay the last that is known of it.
        before: async () => writeFileSync(join(manifests, 'catalog.yaml'), catalog(1000)),
        prints: noProblems,
      },
    ],
  },
  {
    heading: 'Flooding tenant',
    causes: async () => {
      names['NAME'] = 'demo';
      await askMany(250);
    },
    steps: [
      { prints: /^key_\w+ demo +\d{3} / },
      { prints: /^127\.0\.0\.1 +\d{3} / },
      { prints: /^key_\w+ +demo +- +active/ },
      { prints: /^demo .* 20$/ },
      { before: () => askMany(100), prints: /rate_limited/ },
      { prints: /suspended/ },
      {
        before: () => untilHolds(async () => (await statusOf('demo')) === 403),
        prints: /^org\/chat .*Z +\d+ +0\.\d+/,
      },
      { prints: / active / },
    ],
  },
  {
    heading: 'Disputed bill',
    causes: async () => {
      await runWeir(['key', 'limits', names['KEY_ID'] ?? '', '--rate', '1000', '--burst', '2000'], { env });
      await untilHolds(async () => (await statusOf('demo')) === 200);
    },
    steps: [
      { prints: /^key_\w+ +org\/chat +\d{4}-\d\d-\d\d +\d+ +0\.\d+/ },
      { prints: /^\S+ +chatcmpl-\S+ +demo +key_\w+ +org\/chat +completed +9 +3 +engine/ },
      {
        before: async () => {
          const { stdout } = await runWeir(['usage', '--requests', '--limit', '1', '--json'], { env });
          const [row] = JSON.parse(stdout) as readonly { readonly id: string }[];
          names['REQUEST_ID'] = row?.id ?? '';
        },
        prints: /^Bill: 9 prompt tokens, 3 output tokens, counted by the engine: 0\.\d+ USD/,
      },
      { prints: /key\.suspend .* status active → suspended/ },
      { prints: /model\.price .* org\/chat .* prompt 0\.00000015/ },
      { prints: /^Balances equal credits minus costs; workspaces: \d\./ },
      { prints: /november\.csv holds \d+ requests\./ },
      { prints: /^demo .* 2\d\.\d+ / },
    ],
  },
  {
    heading: 'Leaked key',
    causes: async () => {
      names['KEY_ID'] = (await keyIds()).find(({ name }) => name === 'search-prod')?.id ?? '';
      names['NAME'] = 'search-team';
      expect(await statusOf('declared')).toBe(200);
    },
    steps: [
      { prints: /^key_\w+ +sk-weir-\w+ +search-team +search-prod +active/ },
      { prints: /^weir: ApiKey "search-prod" .* declares this.* --override/, code: 1 },
      { prints: /search-prod +revoked/ },
      {
        before: () => untilHolds(async () => (await statusOf('declared')) === 401),
        prints: /^ {2}sk-weir-\w+$/,
      },
      { prints: /^org\/chat .*Z +1 +0\.\d+/ },
      { prints: /key\.revoke .* status active → revoked, override true/ },
      { prints: /^search-team .* 37\.\d+ / },
    ],
  },
  {
    heading: 'Valkey outage',
    causes: () => valkey.kill(),
    steps: [{ prints: /^valkey .* Refuses connections/ }, { before: () => valkey.start(), prints: noProblems }],
  },
  {
    heading: 'Full database',
    causes: async () => {
      names['KEY_ID'] = (await keyIds()).find(({ name }) => name === null)?.id ?? '';
      disk?.fill();
      // PostgreSQL has made room for some rows before.
      for (let round = 0; round < 5; round += 1) await askMany(50);
    },
    steps: [
      { prints: /^database .* Has a full disk .* of bills wait in the journal/ },
      { prints: /^key_\w+ demo +\d+ / },
      { prints: /suspended/ },
      {
        // The database is read, though it stores nothing.
        before: () => untilHolds(async () => (await statusOf('demo')) === 403),
        prints: /^database .* Has a full disk/,
      },
      { prints: /active/ },
      {
        before: async () => disk?.free(),
        prints: /^Balances equal credits minus costs; workspaces: \d\./,
      },
    ],
  },
];

const ofEdge: readonly Incident[] = [
  {
    heading: 'Expired certificate',
    causes: async () => {
      names['BACKEND'] = 'gpu-a';
      await secure.turn(speak(well, { key, cert: expired }));
      writeFileSync(join(folder, 'tls.crt'), expired);
      await startEdge();
    },
    steps: [
      { prints: /^certificate\/localhost .* The certificate that callers see expired \d+ days ago/ },
      {
        before: async () => {
          writeFileSync(join(folder, 'tls.crt'), good);
          await edge.stop();
          await startEdge();
        },
        prints: /^notAfter=/,
      },
      {
        before: () => secure.turn(speak(well, goodTls)),
        prints: /^TLS +good/,
      },
      { prints: noProblems },
    ],
  },
  {
    heading: 'Failed upgrade',
    causes: async () => {
      const backup = join(folder, 'backup.db');
      expect(await runWeir(['backup', backup, '--data', edgeData])).toMatchObject({ code: 0 });
      {
        using database = new DatabaseSync(join(edgeData, 'weir.db'));
        database.exec(`insert into kysely_migration values ('9999-later', '2099-01-01')`);
      }
      const old = await runStart(['--manifests', join(folder, 'secure')], { data: edgeData, env: tls() }).ended;
      expect(old).toMatchObject({ code: 1, stderr: expect.stringContaining('newer version of Weir') as string });
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(edgeData, `weir.db${suffix}`), { force: true });
      copyFileSync(backup, join(edgeData, 'weir.db'));
      await startEdge();
    },
    steps: [{ prints: /^Balances equal credits minus costs; workspaces: \d\./ }, { prints: noProblems }],
  },
];

beforeAll(async () => {
  chmodSync(folder, 0o755);
  for (const name of ['manifests', 'secure', 'tables', '.weir']) mkdirSync(join(folder, name));
  server = await startPostgres();
  const tables = join(folder, 'tables');
  disk = mountSmallDisk(tables, 64 * 1024);
  giveTo(unprivilegedUser(['postgres', 'nobody']), tables);
  await server.query(`create tablespace small location '${tables}'`);
  await server.query('create database accounts tablespace small');
  valkey = await startValkey();
  first = await startSabotagedEngine(speak(well));
  second = await startSabotagedEngine(speak(well));
  secure = await startSabotagedEngine(speak(well, goodTls));
  writeFileSync(join(manifests, 'catalog.yaml'), catalog(1000));
  writeFileSync(join(manifests, 'team.yaml'), team);
  writeFileSync(join(folder, 'secure', 'catalog.yaml'), secureCatalog());
  writeFileSync(join(folder, 'tls.key'), key);
  const data = newDataFolder();
  env = {
    WEIR_DATABASE_URL: server.url.replace(/postgres$/, 'accounts'),
    ...{ WEIR_VALKEY_URL: valkey.url, WEIR_DATA: data, WEIR_ADMIN_PORT: '0' },
  };
  gateway = await start(['--manifests', manifests, '--replicas', '2'], { data, env, portal: true });
  callers.demo = gateway.key;
  names['KEY_ID'] = (await keyIds()).find(({ name }) => name === null)?.id ?? '';
  const declared = join(data, 'account-keys', 'search-key', 'key');
  callers.declared = await untilHolds(() => readFileSync(declared, 'utf8').trim());
});

afterAll(async () => {
  await removeStarts();
  for (const engine of [first, second, secure]) await engine.close();
  await Promise.all([valkey.close(), server.close()]);
  disk?.free();
  disk?.remove();
  rmSync(folder, { recursive: true });
});

test.for(shared)('$heading: the page leads from the first sign to the end', async (incident, { skip }) => {
  skip(incident.heading === 'Full database' && disk === undefined, 'this user may not mount a disk');
  await expectFollowed(incident);
});

test.for(ofEdge)('$heading: the page leads from the first sign to the end, with SQLite', async (incident) => {
  try {
    await expectFollowed(incident, {
      WEIR_DATABASE_URL: `sqlite:${join(edgeData, 'weir.db')}`,
      WEIR_DATA: edgeData,
    });
  } finally {
    await edge.stop();
  }
});
