import type { Socket } from 'node:net';
import type { Attack, AttackSurroundings } from '../hostile/attackers.ts';
import { holdConnections } from '../hostile-traffic/attack-tools.ts';
import type { PortalTarget } from './portal-target.ts';

/** One attacker of the portal: the target, a loopback address of its own, and a count of how each attempt ended. */
type Around = AttackSurroundings<PortalTarget>;

const api = '/api/v1';

const head = (line: string, headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'host: portal', ...headers].join('\r\n');

/** Sends one whole request on each connection and reads the answer until the portal closes. */
const sendWhole = (around: Around, atOnce: number, text: string): Attack =>
  holdConnections(around, atOnce, (socket) => {
    socket.write(text);
    return undefined;
  });

const signIn = (body: string): string => {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const lines = head(`POST ${api}/session`, ['content-type: application/json', length, 'connection: close']);
  return `${lines}\r\n\r\n${body}`;
};

/** Keeps a connection alive with one byte a second. */
function drip(socket: Socket, byte: string): () => void {
  const timer = setInterval(() => socket.write(byte), 1000);
  return () => clearInterval(timer);
}

const events = ({ target }: Around, method: 'GET' | 'HEAD'): string =>
  `${head(`${method} ${api}/events`, [`cookie: ${target.attacker.cookie}`, 'connection: close'])}\r\n\r\n`;

const list = ({ target: { attacker } }: Around): string =>
  `${head(`GET ${api}/requests?workspace=${attacker.workspace}`, [`cookie: ${attacker.cookie}`, 'connection: close'])}\r\n\r\n`;

/** More than one address may hold: the surplus is refused, the others are ended when their time is over. */
const overTheLimit = 600;

/** One attacker of each kind, bounded in connections; a connection that ends is opened anew after a fifth of a second. */
export const portalAttacks = {
  'event streams': (around: Around): Attack => sendWhole(around, 100, events(around, 'GET')),
  'HEAD of events': (around: Around): Attack => sendWhole(around, 50, events(around, 'HEAD')),
  'endless bodies': (around: Around): Attack =>
    holdConnections(around, overTheLimit, (socket) => {
      const lines = ['content-type: application/json', 'content-length: 4000'];
      socket.write(`${head(`POST ${api}/session`, lines)}\r\n\r\n{`);
      return drip(socket, ' ');
    }),
  'endless heads': (around: Around): Attack =>
    holdConnections(around, overTheLimit, (socket) => {
      socket.write(`${head(`POST ${api}/session`, [])}\r\nx-slow: `);
      return drip(socket, 'x');
    }),
  /** As large as a sign-in may be, and refused for what it nests. */
  'bracket bombs': (around: Around): Attack => sendWhole(around, 20, signIn('['.repeat(4_000))),
  'bracket bombs of 1 MB': (around: Around): Attack => sendWhole(around, 6, signIn('['.repeat(1_000_000))),
  /** More than are read at a time for one member. */
  'lists of requests': (around: Around): Attack => sendWhole(around, 64, list(around)),
  'wrong tokens': (around: Around): Attack => sendWhole(around, 20, signIn(JSON.stringify({ token: 'wrong' }))),
} as const satisfies Readonly<Record<string, (around: Around) => Attack>>;

export type PortalAttackName = keyof typeof portalAttacks;

export const portalAttackNames = Object.keys(portalAttacks) as readonly PortalAttackName[];
