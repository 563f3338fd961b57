// The thread of the attackers, and of the engine that is one of them.
import { parentPort } from 'node:worker_threads';
import { serveAttacks } from '../hostile/attackers.ts';
import { attacks } from './attacks.ts';
import { startHostileEngine } from './hostile-engine.ts';

const engine = await startHostileEngine();
serveAttacks(attacks, engine.close);
parentPort?.postMessage(engine.port);
