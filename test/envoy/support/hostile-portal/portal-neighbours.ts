import { Agent, request as startRequest } from 'node:http';
import type { StartNeighbours } from '../hostile/neighbours.ts';
import { addressOf, host } from '../hostile-traffic/target.ts';
import type { PortalTarget, SignedIn } from './portal-target.ts';

/** An answer or an event that takes longer has failed. */
const limitMs = 30_000;
const creditEveryMs = 2_000;

interface Page {
  readonly member: SignedIn;
  readonly agent: Agent;
  readonly close: () => void;
  /** Resolves with the next `balance` event of the page. */
  readonly nextBalance: () => Promise<void>;
}

/** Pages and lists of the API, as somebody who looks around in the portal reads them. */
const paths = ({ workspace }: SignedIn): readonly string[] => [
  '/',
  '/api/v1/session',
  '/api/v1/workspaces',
  `/api/v1/workspaces/${workspace}/keys`,
  `/api/v1/usage?workspace=${workspace}&by=model`,
  `/api/v1/requests?workspace=${workspace}`,
  '/api/v1/models',
];

/** Starts members who read so many answers a second in all, and have a live page open each. An event is that of a credit on an open page. */
export const startPortalNeighbours: StartNeighbours<PortalTarget> = (target, perSecond, { count, fail }) => {
  let asked = 0;

  const pages = target.neighbours.map((member, index) => {
    const agent = new Agent({ keepAlive: true, localAddress: addressOf('neighbour', index) });
    const page = openPage({ target, member, agent }, (why) => fail(`live page: ${why}`));
    return { ...page, member, agent };
  });

  const askNext = (): void => {
    const page = pages[asked % pages.length];
    const path = page && paths(page.member)[Math.floor(asked / pages.length) % paths(page.member).length];
    asked += 1;
    if (page === undefined || path === undefined) return;
    const headers = { cookie: page.member.cookie };
    count('waits', () => ask({ port: target.port, agent: page.agent, method: 'GET', path, headers }));
  };
  let credited = 0;
  const credit = (): void => {
    const page = pages[credited % pages.length];
    credited += 1;
    if (page === undefined) return;
    count('events', async () => {
      const begunAt = performance.now();
      const seen = inTime(page.nextBalance(), 'no event of a credit');
      seen.catch(() => undefined);
      await ask({
        ...{ port: target.port, agent: page.agent, method: 'POST' },
        path: `/api/v1/workspaces/${page.member.workspace}/credits`,
        headers: { authorization: `Bearer ${target.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ amount: '1', note: 'seen by the live page' }),
      });
      await seen;
      return performance.now() - begunAt;
    });
  };
  const timers = [setInterval(askNext, 1000 / perSecond), setInterval(credit, creditEveryMs)];

  return () => {
    for (const timer of timers) clearInterval(timer);
    return () => {
      for (const { close, agent } of pages) {
        close();
        agent.destroy();
      }
    };
  };
};

async function inTime<Value>(value: Promise<Value>, otherwise: string): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(otherwise)), limitMs);
  return Promise.race([value, promise]).finally(() => clearTimeout(timer));
}

interface Asked {
  readonly port: number;
  readonly agent: Agent;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Resolves with the time to the end of a good answer; rejects with what went wrong. */
async function ask({ port, agent, method, path, headers, body }: Asked): Promise<number> {
  const begunAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = startRequest({ host, port, agent, method, path, headers });
  request.on('error', (error) => reject(new Error(`connection: ${error.message}`)));
  request.on('response', (response) => {
    response.on('error', (error) => reject(new Error(`answer: ${error.message}`)));
    response.on('close', () => {
      const status = response.statusCode ?? 0;
      if (status >= 300) reject(new Error(`status ${status}`));
      else if (!response.complete) reject(new Error('broken off'));
      else resolve(performance.now() - begunAt);
    });
    response.resume();
  });
  request.end(body);
  return inTime(promise, 'no answer in time').finally(() => request.destroy());
}

/** Opens a stream of events, which is to stay open until it is closed here. */
function openPage(
  { target, member, agent }: { readonly target: PortalTarget; readonly member: SignedIn; readonly agent: Agent },
  failed: (why: string) => void,
): Pick<Page, 'close' | 'nextBalance'> {
  let waiting: (() => void)[] = [];
  const request = startRequest({
    ...{ host, port: target.port, agent, path: '/api/v1/events', headers: { cookie: member.cookie } },
  });
  request.on('error', (error) => failed(error.message));
  request.on('response', (response) => {
    if (response.statusCode !== 200) failed(`status ${response.statusCode}`);
    response.on('error', () => undefined);
    response.on('close', () => failed('ended'));
    response.setEncoding('utf8').on('data', (piece: string) => {
      if (!piece.includes('event: balance')) return;
      for (const seen of waiting) seen();
      waiting = [];
    });
  });
  request.end();
  return {
    close: () => request.destroy(),
    nextBalance: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
