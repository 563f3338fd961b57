// `npm run hostile:portal`: members of the portal beside one attacker of each kind.
import { parseArgs } from 'node:util';
import { chosenAttacks, positive } from '../hostile/flags.ts';
import { failuresIn } from '../hostile/play-phases.ts';
import { runHostilePortal } from './hostile-portal.ts';
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

if (values.help) console.log(usage);
else {
  const seconds = positive('seconds', values.seconds);
  const attacks = chosenAttacks(values.only, portalAttackNames);
  const phases = await runHostilePortal({
    phases: [{ name: 'quiet', attacks: [], seconds }, ...attacks.map((name) => ({ name, attacks: [name], seconds }))],
    neighboursPerSecond: positive('rate', values.rate),
    report: (line) => console.error(line),
  });
  console.log(portalReportOf(phases));
  if (phases.some((phase) => failuresIn(phase) > 0)) process.exitCode = 1;
}
