import { Agent, request as startRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Attack, AttackSurroundings } from '../hostile/attackers.ts';
import { host, type Target } from './target.ts';

export type GatewayAttack = AttackSurroundings<Target>;

const reopenMs = 200;

/** Keeps so many connections open; each is opened anew, a little later, when the other side closes it. `opened`: how many were before. */
export function holdConnections(
  { target, address, count }: AttackSurroundings<Pick<Target, 'port'>>,
  connections: number,
  use: (socket: Socket, opened: number) => (() => void) | undefined,
): Attack {
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let opened = 0;
  let over = false;
  const open = (): void => {
    if (over) return;
    const socket = connect({ host, port: target.port, localAddress: address });
    sockets.add(socket);
    let status = '';
    socket.on('data', (piece: Buffer) => {
      if (status === '') status = /^HTTP\/1\.1 (\d+)/.exec(piece.toString('latin1'))?.[1] ?? '?';
    });
    socket.on('error', () => undefined);
    let end: (() => void) | undefined;
    socket.once('connect', () => {
      count('opened');
      end = use(socket, opened);
      opened += 1;
    });
    socket.once('close', () => {
      sockets.delete(socket);
      end?.();
      if (over) return;
      count(status === '' ? 'closed' : status);
      const timer = setTimeout(() => {
        timers.delete(timer);
        open();
      }, reopenMs);
      timers.add(timer);
    });
  };
  for (let index = 0; index < connections; index += 1) open();
  return {
    stop: () => {
      over = true;
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

export interface AttackRequest {
  readonly path: string;
  readonly body: Buffer | string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves so long after the request was sent. */
  readonly leaveAfterMs?: number;
}

/** Sends requests at a pace, with at most so many open at once; what comes back is read and thrown away. */
export function sendRequests(
  { target, address, count }: GatewayAttack,
  pace: { readonly perSecond: number; readonly atOnce: number },
  make: (number: number) => AttackRequest,
): Attack {
  const agent = new Agent({ keepAlive: true, localAddress: address });
  const open = new Set<ReturnType<typeof startRequest>>();
  let sent = 0;
  let over = false;
  const send = (): void => {
    if (open.size >= pace.atOnce) return;
    const { path, body, key = target.attackerKey, headers, leaveAfterMs } = make(sent);
    sent += 1;
    const request = startRequest({
      ...{ host, port: target.port, path, method: 'POST', agent },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    });
    open.add(request);
    let outcome = leaveAfterMs === undefined ? 'no answer' : 'left';
    const leaving = leaveAfterMs === undefined ? undefined : setTimeout(() => request.destroy(), leaveAfterMs);
    request.on('error', () => undefined);
    request.on('response', (response) => {
      outcome = String(response.statusCode);
      response.on('error', () => undefined);
      response.resume();
    });
    request.once('close', () => {
      clearTimeout(leaving);
      open.delete(request);
      if (!over) count(`${path} ${outcome}`);
    });
    request.end(body);
  };
  const timer = setInterval(send, 1000 / pace.perSecond);
  return {
    stop: () => {
      over = true;
      clearInterval(timer);
      for (const request of open) request.destroy();
      agent.destroy();
    },
  };
}
