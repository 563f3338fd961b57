import { connect } from 'node:net';
import { type Address, createCaller } from './caller.ts';
import { chatRequest, type ChatRequest, expectedOf } from './chat-request.ts';
import type { Arrival, LoadResult } from './load.ts';
import type { LoadPool } from './load-pool.ts';
import { held, shapeOf } from './scenarios.ts';
import { modelId } from './weir-manifests.ts';

/** A gateway under attack, with a tenant that attacks. */
export interface AttackedGateway {
  readonly edge: Address;
  /** Path of the API at the edge. */
  readonly path: string;
  readonly ops: Address;
  readonly portal: Address;
  /** A key of the tenant with the usual limits, and one with far higher limits. */
  readonly key: string;
  readonly roomyKey: string;
  /** The tenant's token at the portal. */
  readonly token: string;
  /** Sets the budget of a tag of the tenant. Returns the status. */
  readonly setTagBudget: (tag: string) => Promise<number>;
  /** Threads that send loads. */
  readonly pool: LoadPool;
}

/** One way in which a tenant, or a stranger, can harm others. */
export interface Attack {
  readonly name: string;
  /** Whether the neighbour sends chats, or reads a page of the portal. */
  readonly neighbour: 'gateway' | 'portal';
  /** Whether the service has few files in this attack. */
  readonly files: 'usual' | 'few';
  /** Begins an attack for so many seconds. Returns a function that ends it, and says what became of it. */
  readonly begin: (gateway: AttackedGateway, seconds: number) => Promise<() => Promise<string>>;
}

const silentAtOps = 600;
const silentAtEdge = 3_000;
const addresses = 8;
const redialMs = 100;

/** Opens connections from several addresses, sends nothing, and dials again whenever one is closed. */
function holdSilent(targets: readonly (readonly [Address, number])[]): () => Promise<string> {
  const open = new Set<ReturnType<typeof connect>>();
  let tried = 0;
  let isOver = false;
  const dial = (address: Address, index: number): void => {
    if (isOver) return;
    tried += 1;
    const socket = connect({ ...address, localAddress: `127.0.0.${2 + (index % addresses)}` });
    socket.on('connect', () => open.add(socket));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      open.delete(socket);
      setTimeout(dial, redialMs, address, index);
    });
  };
  for (const [address, count] of targets) for (let index = 0; index < count; index += 1) dial(address, index);
  return async () => {
    isOver = true;
    const outcome = `${open.size} open of ${tried} dialled`;
    for (const socket of open) socket.destroy();
    return outcome;
  };
}

const streams = 500;
/** The rate limit of a key without other settings. */
const spacingMs = 10;

/** Opens slow streams as fast as a key may, and keeps those that are not refused. */
async function openStreams({ edge, path }: AttackedGateway, key: string): Promise<() => Promise<string>> {
  const failures: Record<string, number> = {};
  let ended = 0;
  const callers = Array.from({ length: streams }, () =>
    createCaller({
      ...{ address: edge, request: chatRequest({ path, model: modelId(held), stream: true, key }) },
      expected: expectedOf(held, true),
      onAnswer: ({ failure = 'ended' }) => {
        ended += 1;
        failures[failure] = (failures[failure] ?? 0) + 1;
      },
    }),
  );
  for (const caller of callers) {
    caller.send();
    await new Promise((resolve) => setTimeout(resolve, spacingMs));
  }
  return async () => {
    const outcome = [`${streams - ended} open`, ...textsOf(failures)].join(', ');
    for (const caller of callers) caller.close();
    return outcome;
  };
}

const textsOf = (failures: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(failures).map(([reason, count]) => `${count} × ${reason}`);

interface OfferedLoad {
  readonly address: Address;
  readonly request: ChatRequest;
  readonly arrival: Arrival;
}

/** Sends requests for so many seconds. */
function offer({ pool }: AttackedGateway, load: OfferedLoad, seconds: number): () => Promise<string> {
  const running = pool.run({ ...load, expected: undefined, leadSeconds: 0, seconds });
  return async () => {
    const { answers, failures }: LoadResult = await running;
    return [`${answers} answers`, ...textsOf(failures)].join(', ');
  };
}

const tags = ['app', 'customer', 'product', 'team'] as const;
const valuesOfTag = 25;
const perSecond = 50;

function chats({ edge, path, key }: AttackedGateway, headers: Readonly<Record<string, string>>): OfferedLoad {
  const request = chatRequest({ path, model: modelId(shapeOf.together), stream: false, key });
  return {
    address: edge,
    request: { ...request, headers: { ...request.headers, ...headers } },
    arrival: { kind: 'open', perSecond },
  };
}

const get = (path: string, headers: Readonly<Record<string, string>>): ChatRequest => ({
  ...{ method: 'GET', path, headers, body: '' },
});

/** The page Requests of the portal. */
export const requestList = (token: string): ChatRequest =>
  get('/api/v1/requests?limit=50', { authorization: `Bearer ${token}` });

export const attacks: readonly Attack[] = [
  {
    ...{ name: `${silentAtOps} silent connections to the ops port, ${silentAtEdge} to the edge`, files: 'usual' },
    neighbour: 'gateway',
    begin: async ({ ops, edge }) =>
      holdSilent([
        [ops, silentAtOps],
        [edge, silentAtEdge],
      ]),
  },
  {
    ...{ name: '`/metrics`, 30 callers without a pause', neighbour: 'gateway', files: 'usual' },
    begin: async (gateway, seconds) =>
      offer(
        gateway,
        { address: gateway.ops, request: get('/metrics', {}), arrival: { kind: 'closed', connections: 30 } },
        seconds,
      ),
  },
  {
    ...{ name: `${perSecond} requests a second without tags, to compare`, neighbour: 'gateway', files: 'usual' },
    begin: async (gateway, seconds) => offer(gateway, chats(gateway, {}), seconds),
  },
  {
    ...{ name: `${perSecond} requests a second with four tags, beside 100 budgets`, neighbour: 'gateway' },
    files: 'usual',
    begin: async (gateway, seconds) => {
      for (let value = 0; value < valuesOfTag; value += 1) {
        for (const tag of tags) await gateway.setTagBudget(`${tag}=v${value}`);
      }
      const further = await gateway.setTagBudget('team=further');
      const end = offer(gateway, chats(gateway, { 'x-weir-tags': tags.map((tag) => `${tag}=v1`).join() }), seconds);
      return async () => `${await end()}; budget 101: status ${further}`;
    },
  },
  {
    ...{ name: '64 questions of one member at once, without a pause', neighbour: 'portal', files: 'usual' },
    begin: async (gateway, seconds) =>
      offer(
        gateway,
        {
          address: gateway.portal,
          request: requestList(gateway.token),
          arrival: { kind: 'closed', connections: 64 },
        },
        seconds,
      ),
  },
  {
    ...{ name: `${streams} streams, usual limits`, neighbour: 'gateway', files: 'few' },
    begin: (gateway) => openStreams(gateway, gateway.key),
  },
  {
    ...{ name: `${streams} streams, limits raised above the files`, neighbour: 'gateway', files: 'few' },
    begin: (gateway) => openStreams(gateway, gateway.roomyKey),
  },
];
