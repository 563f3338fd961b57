// `npm run hostile`: honest traffic beside one attacker of each kind, for as long as you like.
import { parseArgs } from 'node:util';
import { chosenAttacks, positive } from '../hostile/flags.ts';
import { failuresIn, type Phase } from '../hostile/play-phases.ts';
import { attackNames } from './attacks.ts';
import { runHostileTraffic } from './hostile-run.ts';
import { reportOf, slowdownOf } from './report.ts';

const usage = `npm run hostile -- [options]

Starts a gateway with engines of its own, lets honest callers use it, first in quiet and then beside one attacker of each kind, and
prints what the honest ones saw. Exit code 1 when one of their requests failed, or their p99 was more than twice the quiet one.

  --minutes N     of attack (default: 20); the quiet time before it is a quarter of that, three minutes at most
  --only A,B      these attackers alone
  --each          one attacker after the other, each for its share of the minutes, in place of all at once
  --rate N        requests a second of all honest callers together (default: 12)
  --help

Attackers: ${attackNames.join(', ')}`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    only: { type: 'string' },
    each: { type: 'boolean', default: false },
    rate: { type: 'string', default: '12' },
    help: { type: 'boolean', default: false },
  },
});

function phases(): readonly Phase[] {
  const names = chosenAttacks(values.only, attackNames);
  const seconds = positive('minutes', values.minutes) * 60;
  const quiet: Phase = { name: 'quiet', attacks: [], seconds: Math.min(180, seconds / 4) };
  if (!values.each) return [quiet, { name: 'attacked', attacks: names, seconds }];
  return [quiet, ...names.map((name) => ({ name, attacks: [name], seconds: seconds / names.length }))];
}

if (values.help) console.log(usage);
else {
  const report = (line: string): void => console.error(line);
  const [quiet, ...attacked] = await runHostileTraffic({
    phases: phases(),
    neighboursPerSecond: positive('rate', values.rate),
    report,
  });
  if (quiet !== undefined) {
    console.log(reportOf([quiet, ...attacked]));
    const holds = attacked.every((phase) => failuresIn(phase) === 0 && slowdownOf(phase, quiet) <= 2);
    if (!holds) process.exitCode = 1;
  }
}
