// The thread of the portal's neighbours.
import { serveNeighbours } from '../hostile/neighbours.ts';
import { startPortalNeighbours } from './portal-neighbours.ts';

serveNeighbours(startPortalNeighbours);
