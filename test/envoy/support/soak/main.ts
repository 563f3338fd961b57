// `npm run soak`: every kind of request and of fault, for as long as you like, and whether anything grows by it.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { needPrograms } from '../../../support/needed-programs.ts';
import { cycleReportOf, findingsOf, isSteady, reportOf } from './soak-report.ts';
import { runSoak, type SoakCycle } from './soak-run.ts';

const usage = `npm run soak -- [options]

Starts three services behind one Envoy on PostgreSQL and Valkey of its own. In cycles it lets a storm of requests of every kind
loose, while services and endpoints are killed, PostgreSQL and Valkey go away, and attackers are there; then, at rest, it reads
memory, descriptors and latency and holds every request against the ledger. Exit code 1 when a figure grew by more than 5 % after
the first quarter of the time, or the books do not balance.

  --minutes N     (default: 20)
  --seed N        of the order of requests (default: 7)
  --requests N    of each cycle's storm (default: 1200)
  --json FILE     writes every reading and every finding
  --help

Ctrl-C ends it and prints what there is.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    seed: { type: 'string', default: '7' },
    requests: { type: 'string', default: '1200' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function positive(name: 'minutes' | 'seed' | 'requests'): number {
  const value = Number(values[name]);
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0.`);
  return value;
}

/** What was found so far; sets the exit code. */
function tell(cycles: readonly SoakCycle[]): void {
  const findings = findingsOf(cycles);
  console.log(reportOf(cycles, findings));
  if (values.json !== undefined) {
    const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
    writeFileSync(values.json, `${JSON.stringify({ cycles, findings }, plain, 2)}\n`);
  }
  if (!isSteady(cycles, findings)) process.exitCode = 1;
}

if (values.help) console.log(usage);
else {
  const [minutes, seed, requests] = [positive('minutes'), positive('seed'), positive('requests')];
  await needPrograms('PostgreSQL', 'Valkey');
  // A terminal tells the engines and the databases as well: the cycle that is under way fails, and everything is ended.
  process.on('SIGINT', () => undefined);
  const cycles: SoakCycle[] = [];
  try {
    for await (const cycle of runSoak({ seed, requests, probes: 250 })) {
      cycles.push(cycle);
      console.error(cycleReportOf(cycle));
      if (cycle.at >= minutes) break;
    }
  } finally {
    tell(cycles);
  }
}
