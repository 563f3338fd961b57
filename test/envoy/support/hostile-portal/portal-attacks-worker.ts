// The thread of the attackers of the portal.
import { serveAttacks } from '../hostile/attackers.ts';
import { portalAttacks } from './portal-attacks.ts';

serveAttacks(portalAttacks);
