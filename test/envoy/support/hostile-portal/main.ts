// `npm run hostile:portal`: members of the portal beside one attacker of each kind.
import { parseArgs } from 'node:util';
import { runHostilePortal, portalFailuresIn } from './hostile-portal.ts';
import { portalAttackNames } from './portal-attacks.ts';
import { portalReportOf } from './portal-report.ts';

const usage = `npm run hostile:portal -- [options]

Starts a portal of its own. Signed-in members read its pages and lists and have live pages open, first in quiet and then beside one
attacker after the other. Prints what the members saw, what became of the attackers, and memory and event-loop delay of the portal.
Exit code 1 when a request of a member failed.

  --seconds N     of each attack and of the quiet time (default: 30); bodies that never end are ended after 20 s
  --only A,B      these attackers alone
  --rate N        requests a second of all members together (default: 20)
  --help

Attackers: ${portalAttackNames.join(', ')}`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    only: { type: 'string' },
    rate: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
});

function positive(name: 'seconds' | 'rate'): number {
  const value = Number(values[name]);
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0.`);
  return value;
}

const chosen = (values.only?.split(',') ?? portalAttackNames).map((name) => {
  const known = portalAttackNames.find((one) => one === name.trim());
  if (known === undefined)
    throw new Error(`There is no attacker "${name}". There are: ${portalAttackNames.join(', ')}.`);
  return known;
});

if (values.help) console.log(usage);
else {
  const seconds = positive('seconds');
  const phases = await runHostilePortal({
    phases: [{ name: 'quiet', seconds }, ...chosen.map((attack) => ({ name: attack, attack, seconds }))],
    neighboursPerSecond: positive('rate'),
    report: (line) => console.error(line),
  });
  console.log(portalReportOf(phases));
  if (phases.some((phase) => portalFailuresIn(phase) > 0)) process.exitCode = 1;
}
