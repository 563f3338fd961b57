// The thread of the neighbours: what the attackers' own work takes of a processor must not look like the gateway's.
import { parentPort } from 'node:worker_threads';
import { type Neighbours, startNeighbours } from './neighbours.ts';
import type { NeighbourCommand } from './threads.ts';

let neighbours: Neighbours | undefined;
parentPort?.on('message', (command: NeighbourCommand) => {
  switch (command.kind) {
    case 'start':
      neighbours = startNeighbours(command.target, command.perSecond);
      neighbours.phase(command.phase);
      break;
    case 'phase':
      neighbours?.phase(command.phase);
      break;
    case 'stop':
      void neighbours?.stop().then((figures) => {
        parentPort?.postMessage(figures);
        parentPort?.close();
      });
      break;
  }
});
