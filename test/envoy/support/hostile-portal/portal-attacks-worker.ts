// The thread of the attackers of the portal.
import { parentPort } from 'node:worker_threads';
import type { Attack } from '../hostile-traffic/attack-tools.ts';
import { addressOf } from '../hostile-traffic/target.ts';
import { portalAttackNames, startPortalAttack } from './portal-attacks.ts';
import type { PortalAttackCommand } from './portal-threads.ts';

let running: Attack | undefined;
let tally = new Map<string, number>();

parentPort?.on('message', (command: PortalAttackCommand) => {
  switch (command.kind) {
    case 'attack': {
      const outcomes = new Map<string, number>();
      tally = outcomes;
      running = startPortalAttack(command.name, {
        target: command.target,
        address: addressOf('attacker', portalAttackNames.indexOf(command.name)),
        count: (outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      });
      break;
    }
    case 'halt':
      running?.stop();
      running = undefined;
      parentPort?.postMessage(Object.fromEntries(tally));
      tally = new Map();
      break;
    case 'stop':
      parentPort?.close();
      break;
  }
});
