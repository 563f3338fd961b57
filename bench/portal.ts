// What the portal costs streams: `npm run bench:portal -- [--ledger FILE] [--rounds N] [--seconds N] [--streams N] [--pages N] [--pause MS]`.
//
// A gateway as `npm start` starts it, on a ledger of 5 million requests of 400 days (`--rows`, `--days`; `--ledger` takes a copy of one
// that is there), under streams whose chunks are 10 ms apart. Rounds alternate: without, and with a hundred open pages and reports over
// a year with a second between two (`--pause`). Prints the time between two chunks as callers see it, and how the rounds beside the portal's work
// compare with their neighbours without it. For a machine that does nothing else: beside other work the rounds differ by more than what
// is measured.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../src/programs/local/find-envoy.ts';
import type { AnswerShape } from './answers.ts';
import { chatRequest, expectedOf } from './chat-request.ts';
import { startEngines } from './engine-processes.ts';
import { placeLedger } from './fill-ledger.ts';
import { openLoadPool } from './load-pool.ts';
import { percentileMs } from './load.ts';
import { cpuMs, processTree } from './process-usage.ts';
import { alignTable } from './table.ts';
import { modelId, writeManifests } from './weir-manifests.ts';
import { startWeir } from './weir-process.ts';

const { values } = parseArgs({
  options: {
    ledger: { type: 'string' },
    rows: { type: 'string', default: '5000000' },
    days: { type: 'string', default: '400' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '8' },
    streams: { type: 'string', default: '96' },
    pages: { type: 'string', default: '100' },
    pause: { type: 'string', default: '1000' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const streams = Number(values.streams);
/** The last chunk of an answer waits until its bill is durable. It is one of 300 here, so that the 99th percentile is of the others. */
const shape: AnswerShape = { chunks: 300, pace: { kind: 'apart', gapMs: 10 }, reasoningChunks: 0 };
const report = (line: string): void => console.error(line);

await using stack = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'weir-bench-portal-'));
stack.defer(() => rmSync(folder, { recursive: true, force: true }));
const data = join(folder, 'data');
mkdirSync(data);
await placeLedger(join(data, 'weir.db'), {
  ...{ from: values.ledger, rows: Number(values.rows), days: Number(values.days) },
  report: (line) => report(`filled ${line}`),
});
const helpers = Math.max(1, Math.floor(availableParallelism() / 4));
const engines = await startEngines(helpers);
stack.defer(engines.stop);
const pool = openLoadPool(helpers);
stack.defer(pool.close);
const manifests = join(folder, 'manifests');
await writeManifests(manifests, engines.port, [shape]);
const weir = await startWeir({
  ...{ root: join(import.meta.dirname, '..'), envoy: await findEnvoy({ env: process.env, report }), manifests, data },
  // Requests of a year ago are what the reports read.
  env: { WEIR_LEDGER_RETENTION_DAYS: '0', WEIR_ADMIN_PORT: '0', WEIR_OPS_PORT: '0' },
});
stack.defer(weir.stop);
const { portal } = weir;
if (portal === undefined) throw new Error('weir start printed no address of the portal');
const path = weir.baseUrl.pathname.replace(/\/$/, '');
const tree = await processTree(weir.pid);
const portalPids = tree.filter(({ command }) => / portal /.test(`${command} `)).map(({ pid }) => pid);

/** What a round saw. */
interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly chunksPerSecond: number;
  readonly portalMsPerSecond: number;
  readonly failures: number;
}

async function round(): Promise<Round> {
  let before: Promise<number | undefined> = Promise.resolve(undefined);
  let after = before;
  const result = await pool.run(
    {
      address: { host: weir.baseUrl.hostname, port: Number(weir.baseUrl.port) },
      request: chatRequest({ path, model: modelId(shape), stream: true, key: weir.key }),
      expected: expectedOf(shape, true),
      arrival: { kind: 'closed', connections: streams },
      ...{ leadSeconds: 2, seconds },
    },
    {
      onBegin: () => {
        before = cpuMs(portalPids);
      },
      onEnd: () => {
        after = cpuMs(portalPids);
      },
    },
  );
  const cpu = ((await after) ?? Number.NaN) - ((await before) ?? Number.NaN);
  return {
    p50: percentileMs(result.gap, 50) ?? Number.NaN,
    p99: percentileMs(result.gap, 99) ?? Number.NaN,
    chunksPerSecond: result.gap.count / result.seconds,
    portalMsPerSecond: cpu / result.seconds,
    failures: Object.values(result.failures).reduce((sum, count) => sum + count, 0),
  };
}

interface Done {
  readonly events: number;
  readonly reports: number;
  readonly reportMs: number;
  readonly answers: number;
  readonly failures: number;
}

async function askDone(child: ChildProcess): Promise<Done> {
  const answer = once(child, 'message');
  child.send('done?');
  const [done] = (await answer) as [Done];
  return done;
}

/** The same round while pages are open and reports are read. */
async function roundWithPortal(address: URL): Promise<Round & { readonly done: Done }> {
  const child = fork(join(import.meta.dirname, 'portal-load-process.ts'), [address.href, values.pages, values.pause], {
    detached: true,
  });
  // All pages are open, and the first of them have read what they show.
  await once(child, 'message');
  const seen = await round();
  const done = await askDone(child);
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
  return { ...seen, done };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

report('warm-up');
await round();
await roundWithPortal(portal);
const pairs: { readonly without: Round; readonly beside: Round & { readonly done: Done } }[] = [];
for (let number = 0; number < rounds; number += 1) {
  report(`round ${number + 1} of ${rounds}`);
  // By turns, so that neither always comes after the other.
  if (number % 2 === 0) {
    const without = await round();
    pairs.push({ without, beside: await roundWithPortal(portal) });
  } else {
    const beside = await roundWithPortal(portal);
    pairs.push({ without: await round(), beside });
  }
}
const ms = (value: number): string => value.toFixed(2);
console.log(
  alignTable([
    [
      'round',
      'p50 without',
      'p50 beside',
      'p99 without',
      'p99 beside',
      'ratio',
      'chunks/s',
      'portal ms/s',
      'reports',
      'events',
    ],
    ...pairs.map(({ without, beside }, index) => [
      String(index + 1),
      ...[without.p50, beside.p50, without.p99, beside.p99, beside.p99 / without.p99].map(ms),
      ...[without.chunksPerSecond, beside.portalMsPerSecond, beside.done.reports, beside.done.events].map((value) =>
        value.toFixed(0),
      ),
    ]),
  ]),
);
const ratio = median(pairs.map(({ without, beside }) => beside.p99 / without.p99));
const reports = pairs.reduce((sum, { beside }) => sum + beside.done.reports, 0);
const reportMs = pairs.reduce((sum, { beside }) => sum + beside.done.reportMs, 0) / Math.max(1, reports);
console.log(
  `p99 between chunks beside ${values.pages} pages and a report over a year: ${ratio.toFixed(3)} of that without, the median of ` +
    `${rounds} rounds; ${reports} reports of ${reportMs.toFixed(0)} ms`,
);
const failures = pairs.reduce(
  (sum, { without, beside }) => sum + without.failures + beside.failures + beside.done.failures,
  0,
);
if (failures > 0) console.log(`NOT A MEASUREMENT: ${failures} answers were wrong or missing`);
if (failures > 0 || ratio > 1.1) process.exitCode = 1;
