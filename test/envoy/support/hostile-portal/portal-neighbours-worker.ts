// The thread of the portal's neighbours: the work of the attackers must not look like the portal's.
import { parentPort } from 'node:worker_threads';
import { type PortalNeighbours, startPortalNeighbours } from './portal-neighbours.ts';
import type { PortalNeighbourCommand } from './portal-threads.ts';

let neighbours: PortalNeighbours | undefined;
parentPort?.on('message', (command: PortalNeighbourCommand) => {
  switch (command.kind) {
    case 'start':
      neighbours = startPortalNeighbours(command.target, command.perSecond);
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
