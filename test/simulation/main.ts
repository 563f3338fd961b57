// `npm run simulate -- --seed N --hours H --until-failure`: see README.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makePlan } from './make-plan.ts';
import { onPostgres } from './postgres.ts';
import { digestOf, runWorld } from './run-world.ts';
import { shrink } from './shrink.ts';
import { writeSituations } from './situations.ts';
import { countCoverage } from './source-coverage.ts';
import { tighten } from './tight.ts';

const usage = `npm run simulate -- [--seed N] [--hours H | --until-failure] [--requests N] [--shrink] [--situations]
  [--tight] [--postgres URL]

Simulates virtual hours of a gateway, each with its own seed from N on, and checks that no invariant is violated. --shrink
looks for the smallest plan that still fails, and writes it to test/simulation/regressions. --situations lists the pairs of an
event and an open state that never occurred, and the lines of src that were never reached. --tight holds each promise one unit
tighter than it was made, in H worlds at most, and lists whether its check fails: a check that cannot fail is none.
`;
const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seed: { type: 'string', default: '1' },
    hours: { type: 'string' },
    requests: { type: 'string', default: '520' },
    'until-failure': { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    situations: { type: 'boolean', default: false },
    tight: { type: 'boolean', default: false },
    postgres: { type: 'string' },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit();
}
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
const hours = values['until-failure'] ? Infinity : Number(values.hours ?? (values.tight ? 30 : 1));
const database = values.postgres === undefined ? undefined : onPostgres(values.postgres);
const digests: string[] = [];
const situations = new Map<string, number>();
const coverage = values.situations ? await countCoverage() : undefined;
if (values.tight) {
  const left = await tighten({ seed, worlds: hours, requests: Number(values.requests) }, say);
  process.exit(left.length > 0 ? 1 : 0);
}
let requests = 0;
let violations = 0;
let virtualHours = 0;

// A run that would never end, or a long one, still has its last line.
let isInterrupted = false;
process.once('SIGINT', () => {
  isInterrupted = true;
});

// An hour is a world of its own, so that each can be run again alone.
for (let hour = 0; hour < hours && !isInterrupted; hour += 1) {
  const plan = makePlan(seed + hour, Number(values.requests));
  const result = await runWorld(plan, database);
  digests.push(result.digest);
  for (const [name, count] of result.situations) situations.set(name, (situations.get(name) ?? 0) + count);
  requests += result.requests;
  virtualHours += plan.hours;
  violations += result.violations.length;
  for (const { invariant, text, atMs, request } of result.violations)
    say(
      `seed ${plan.seed} at ${atMs.toFixed(3)} ms${request === undefined ? '' : `, request ${request}`}: ${invariant}: ${text}`,
    );
  for (const line of result.excerpts) say(`  ${line}`);
  if (values.shrink && result.violations.length > 0) {
    const smallest = await shrink(plan, result, { most: 400, database, report: (events) => say(`  ${events} events`) });
    const name = `seed-${plan.seed}-${result.violations[0]?.invariant.replaceAll(' ', '-')}.json`;
    const folder = join(import.meta.dirname, 'regressions');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), `${JSON.stringify(smallest, undefined, 1)}\n`);
    say(`  written: test/simulation/regressions/${name}`);
  }
  if (values['until-failure'] && violations > 0) break;
}
if (coverage !== undefined) for (const line of [...writeSituations(situations), ...(await coverage())]) say(line);
say(
  `seed ${seed}: ${virtualHours} virtual hours, ${requests} requests, ${violations} violations, log sha256 ${digestOf(digests)}`,
);
process.exitCode = violations > 0 ? 1 : 0;
