// The thread of the attackers, and of the engine that is one of them.
import { parentPort } from 'node:worker_threads';
import type { Attack } from './attack-tools.ts';
import { attackNames, startAttack } from './attacks.ts';
import { startHostileEngine } from './hostile-engine.ts';
import { addressOf } from './target.ts';
import type { AttackCommand } from './threads.ts';

const engine = await startHostileEngine();
let running: readonly Attack[] = [];
let tally = new Map<string, Map<string, number>>();

parentPort?.on('message', (command: AttackCommand) => {
  switch (command.kind) {
    case 'attack':
      tally = new Map();
      running = command.names.map((name) => {
        const outcomes = new Map<string, number>();
        tally.set(name, outcomes);
        return startAttack(name, {
          target: command.target,
          address: addressOf('attacker', attackNames.indexOf(name)),
          count: (outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
        });
      });
      break;
    case 'halt':
      for (const attack of running) attack.stop();
      running = [];
      parentPort?.postMessage(
        Object.fromEntries([...tally].map(([name, counts]) => [name, Object.fromEntries(counts)])),
      );
      break;
    case 'stop':
      void engine.close().then(() => parentPort?.close());
      break;
  }
});
parentPort?.postMessage(engine.port);
