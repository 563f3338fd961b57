// How long each page of the portal takes to be usable: `npm run pages -- [--ledger FILE] [--rounds N] [--limit MS] [--json FILE]`.
//
// A gateway as `npm start` starts it, on a ledger of 5 million requests of 400 days (`--rows`, `--days`), and a real Chromium. A page
// is usable when its heading is there, nothing on it says that it is loading, every chart is drawn, and no answer of the portal is
// waited for; the time is the browser's own, from the beginning of the navigation. `--ledger` takes a copy of a SQLite ledger that is
// there already, its newest requests of today or yesterday; else one is filled, which takes minutes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chat } from '../test/support/start.ts';
import { needPrograms } from '../test/support/needed-programs.ts';
import { startPortal } from '../test/support/start-portal.ts';
import { placeLedger } from './fill-ledger.ts';
import { cpuMs, processTree } from './process-usage.ts';
import { alignTable } from './table.ts';

const { values } = parseArgs({
  options: {
    ledger: { type: 'string' },
    rows: { type: 'string', default: '5000000' },
    days: { type: 'string', default: '400' },
    rounds: { type: 'string', default: '5' },
    limit: { type: 'string', default: '1000' },
    json: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const limitMs = Number(values.limit);
await needPrograms('Chromium');

const ranges = ['24h', '7d', '30d', '90d'] as const;
/** 90 days ago, from which on an `x-request-id` is searched. Without a date, seven days are. */
const longAgo = new Date(Date.now() - 90 * 86_400_000).toISOString();

/** The pages. An id that no request has is the longest search. */
const pathsOf = ({ id, key, workspace }: NewestRequest): readonly string[] => [
  '/',
  '/keys',
  `/keys?workspace=${workspace}&search=key`,
  ...ranges.flatMap((range) => [`/usage?range=${range}`, `/usage?range=${range}&by=key`]),
  '/usage?range=90d&by=workspace',
  '/usage?range=30d&by=tag&tag=team',
  '/usage?range=90d&by=tag&tag=team',
  `/usage?range=90d&by=model&workspace=${workspace}`,
  '/balance',
  '/models',
  '/models?model=demo%2Fchat',
  '/requests',
  '/requests?outcome=failed',
  `/requests?workspace=${workspace}&key=${key}`,
  `/requests?search=${id}`,
  `/requests?search=${crypto.randomUUID()}`,
  `/requests?search=${crypto.randomUUID()}&from=${longAgo}`,
  `/requests?request=${id}`,
  '/playground',
  '/members',
  `/members?workspace=${workspace}`,
  '/audit',
  '/workspaces',
  '/backends',
];

/** The newest request of a workspace, as the admin API lists it. */
interface NewestRequest {
  readonly id: string;
  readonly key: string;
  readonly workspace: string;
}

interface Sample {
  /** From the beginning of the navigation. */
  readonly usableMs: number;
  readonly headingMs: number;
  /** When the last answer of the portal had come. */
  readonly answeredMs: number;
  readonly answers: number;
  /** Bytes of the answers. */
  readonly bytes: number;
}

interface Measured extends Sample {
  /** Processor time of the portal, in steps of 10 ms. Other programs on the machine do not count. */
  readonly portalMs: number;
}

/** Runs in each page before its own code. Its text is what the browser gets. */
const watch = `
  let waiting = 0;
  const send = globalThis.fetch;
  globalThis.fetch = async (...given) => {
    waiting += 1;
    try { return await send(...given); } finally { waiting -= 1; }
  };
  const { promise: usable, resolve } = Promise.withResolvers();
  const seen = { headingMs: undefined, usable };
  globalThis.weirPage = seen;
  const look = () => {
    const now = performance.now();
    if (document.querySelector('h1') !== null) seen.headingMs ??= now;
    const charts = [...document.querySelectorAll('.chart')];
    const isUsable = seen.headingMs !== undefined && waiting === 0 &&
      document.querySelector('[aria-label="Loading"]') === null && charts.every((chart) => chart.querySelector('canvas') !== null);
    // Three frames in a row: what has just come may ask for more.
    seen.frames = isUsable ? (seen.frames ?? 0) + 1 : 0;
    if (seen.frames === 1) seen.first = now;
    if (seen.frames === 3) resolve(seen.first);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

const read = `(async () => {
  const usableMs = await globalThis.weirPage.usable;
  const { headingMs } = globalThis.weirPage;
  const answers = performance.getEntriesByType('resource').filter(({ name, initiatorType }) =>
    new URL(name).pathname.startsWith('/api/') && initiatorType === 'fetch');
  return {
    headingMs, usableMs, answers: answers.length,
    answeredMs: Math.max(0, ...answers.map(({ responseEnd }) => responseEnd)),
    bytes: answers.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
  };
})()`;

async function sample(path: string): Promise<Measured> {
  const before = await cpuMs(portalPids);
  await page.goto(path, { waitUntil: 'commit' });
  const seen = (await page.evaluate(read)) as Sample;
  const after = await cpuMs(portalPids);
  return { ...seen, portalMs: (after ?? Number.NaN) - (before ?? Number.NaN) };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const data = mkdtempSync(join(tmpdir(), 'weir-pages-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(data, { recursive: true, force: true }));
await placeLedger(join(data, 'weir.db'), {
  ...{ from: values.ledger, rows: Number(values.rows), days: Number(values.days) },
  report: (line) => console.error(`filled ${line}`),
});
const { gateway, portal, token, browser } = await startPortal(stack, {
  data,
  // Requests of a year ago are what this is about.
  env: { WEIR_LEDGER_RETENTION_DAYS: '0' },
});
const portalPids = (await processTree(gateway.processes()['weir start'] ?? 0))
  .filter(({ command }) => / portal /.test(`${command} `))
  .map(({ pid }) => pid);
for (let count = 0; count < 3; count += 1) await (await chat(gateway, {})).text();
const lists = await fetch(`${portal}/api/v1/requests?workspace=workspace-7&limit=1`, {
  headers: { authorization: `Bearer ${token}` },
});
const [newest] = ((await lists.json()) as { readonly data: readonly NewestRequest[] }).data;
if (newest === undefined) throw new Error('workspace-7 of the ledger has no request');
const context = await browser.newContext({ baseURL: portal, viewport: { width: 1280, height: 800 } });
await context.addInitScript(watch);
const page = await context.newPage();
await page.goto(`/#token=${token}`);
await page.evaluate(read);

const samples = new Map<string, Measured[]>(pathsOf(newest).map((path) => [path, []]));
// Round by round, so that whatever else the machine does is shared by all pages.
for (let round = 0; round < rounds; round += 1) {
  for (const [path, some] of samples) some.push(await sample(path));
}
const rows = [...samples].map(([path, some]) => ({
  path,
  usable: median(some.map(({ usableMs }) => usableMs)),
  cells: [
    path,
    ...[
      median(some.map(({ usableMs }) => usableMs)),
      Math.max(...some.map(({ usableMs }) => usableMs)),
      median(some.map(({ headingMs }) => headingMs)),
      median(some.map(({ answeredMs }) => answeredMs)),
      median(some.map(({ answers }) => answers)),
      median(some.map(({ bytes }) => bytes)) / 1024,
      median(some.map(({ portalMs }) => portalMs)),
    ].map((value) => value.toFixed(0)),
  ],
}));
const head = ['page', 'usable, ms', 'slowest', 'heading', 'answered', 'answers', 'KB', 'portal, CPU ms'];
console.log(alignTable([head, ...rows.map(({ cells }) => cells)]));
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify(Object.fromEntries(samples), undefined, 2)}\n`);
const late = rows.filter(({ usable }) => usable > limitMs);
if (late.length > 0) {
  console.log(`not usable within ${limitMs} ms: ${late.map(({ path }) => path).join(', ')}`);
  process.exitCode = 1;
}
