// The thread of the neighbours.
import { serveNeighbours } from '../hostile/neighbours.ts';
import { startNeighbours } from './neighbours.ts';

serveNeighbours(startNeighbours);
