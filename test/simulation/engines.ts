import { Buffer } from 'node:buffer';
import type { Upstream, UpstreamCall } from '../../src/gateway/core/upstream.ts';
import type { Behaviour, BehaviourInput } from '../programmable-engine/behaviour.ts';
import { answerChat, type ChatEndpoint } from '../programmable-engine/chat-endpoint.ts';
import type { ChatMessage } from '../programmable-engine/chat-message.ts';
import { answerEmbeddings } from '../programmable-engine/embedding-endpoint.ts';
import { engineModelOf } from '../programmable-engine/engine-model.ts';
import { identityOf } from '../programmable-engine/identity.ts';
import { isJsonObject, type JsonObject, objectOr, parsedOr } from '../programmable-engine/json-value.ts';
import { createOrders, type Orders } from '../programmable-engine/orders.ts';
import { createPromptMemory } from '../programmable-engine/prompt-memory.ts';
import type { Wire } from '../programmable-engine/wire.ts';
import { type Chance, seededChance } from '../programmable-engine/chance.ts';
import type { Connection } from './connection.ts';
import { manners, mannersIn, roundOf, type RoundLog } from './heard-rounds.ts';
import type { SearchProviderModel } from './search-provider.ts';
import type { Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';

/** `refuses`: no connection is made. `silent`: the connection is made, and nothing ever comes over it. */
export type EngineState = 'up' | 'refuses' | 'silent';

/** An endpoint of a backend: the programmable engine of the other suites, in virtual time. */
export interface SimulatedEngine {
  readonly name: string;
  /** Address and port. */
  readonly endpoint: string;
  readonly set: (state: EngineState) => void;
  readonly isUp: () => boolean;
  readonly open: () => number;
  /** Breaks all connections, as the death of its process does. */
  readonly breakAll: () => void;
  readonly answer: (call: UpstreamCall, connection: Connection) => void;
}

export interface EngineOptions {
  readonly name: string;
  readonly endpoint: string;
  readonly upstreamModel: string;
  readonly behaviour: BehaviourInput;
  readonly rounds: RoundLog;
}

export function createEngine(
  { name, endpoint: address, upstreamModel, behaviour, rounds }: EngineOptions,
  scheduler: Scheduler,
): SimulatedEngine {
  const endpoint: ChatEndpoint = {
    name,
    identity: identityOf(name),
    models: [engineModelOf({ id: upstreamModel, maxModelLen: 8192 })],
    orders: ordersOf(name, behaviour),
    memory: createPromptMemory(),
    now: () => scheduler.now(),
  };
  const open = new Map<Connection, () => void>();
  let state: EngineState = 'up';

  function wireOf(connection: Connection): Wire {
    const { listener, deliver, isOver } = connection;
    let headSent = false;
    const close = (): void => {
      open.delete(connection);
      connection.end();
    };
    const fail = async (): Promise<void> => {
      deliver(() => listener.failed('UND_ERR_SOCKET'));
      deliver(close);
    };
    const sent = async (bytes: Uint8Array | string): Promise<void> => {
      const piece = Buffer.from(bytes as Uint8Array);
      if (piece.length > 0) deliver(() => listener.data(new Uint8Array(piece)));
      await connection.untilReady();
    };
    return {
      closed: isOver,
      headSent: () => headSent,
      sendHead: (status, headers) => {
        headSent = true;
        deliver(() => listener.head(status, (header) => textOf(headers[header])));
      },
      pause: (ms) =>
        ms <= 0 || isOver()
          ? Promise.resolve()
          : new Promise((resolve) => {
              const cancel = scheduler.after(ms, resolve);
              connection.onClose(() => {
                cancel();
                resolve();
              });
            }),
      untilClosed: () => (isOver() ? Promise.resolve() : new Promise((resolve) => connection.onClose(resolve))),
      send: sent,
      sendAlone: sent,
      nextTurn: () => Promise.resolve(),
      end: async (last = '') => {
        await sent(last);
        deliver(listener.ended);
        deliver(close);
      },
      cut: fail,
      reset: fail,
      truncate: async (last) => {
        await sent(last);
        await fail();
      },
    };
  }

  return {
    name,
    endpoint: address,
    set: (now) => {
      state = now;
    },
    isUp: () => state === 'up',
    open: () => open.size,
    breakAll: () => {
      for (const fail of open.values()) fail();
      open.clear();
    },
    answer: (call, connection) => {
      if (state === 'refuses') {
        connection.deliver(() => connection.listener.failed('UPSTREAM_CONNECT'));
        connection.deliver(connection.end);
        return;
      }
      open.set(connection, () => {
        connection.deliver(() => connection.listener.failed('UND_ERR_SOCKET'));
        connection.deliver(connection.end);
      });
      connection.onClose(() => open.delete(connection));
      if (state === 'silent') return;
      const body = parsedOr(Buffer.from(call.body as Uint8Array).toString());
      if (!isJsonObject(body)) throw new Error('the service has sent a body that is no JSON object');
      if (call.path.endsWith('/embeddings')) {
        void answerEmbeddings(endpoint, body, () => wireOf(connection));
        return;
      }
      rounds.hear(body);
      void answerChat(endpoint, body, () => wireOf(connection));
    },
  };
}

const askedIn = (messages: readonly ChatMessage[]): JsonObject =>
  objectOr(messages.findLast(({ role }) => role === 'user')?.asked);

/** How every engine behaves towards a prompt. */
export const mannersOf = (messages: readonly ChatMessage[]): Behaviour => mannersIn(askedIn(messages));

/** The messages without their fault, where it strikes in another round. */
function struck(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const { struckRound, ...asked } = askedIn(messages);
  if (struckRound === undefined) return messages;
  const turns = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const isStruck = (roundOf(messages) ?? roundOf(turns.slice(0, -1))) === struckRound;
  const kept = isStruck
    ? asked
    : Object.fromEntries(manners.map((name) => [name, asked[name]]).filter(([, value]) => value !== undefined));
  return messages.map((message) => (message.asked === undefined ? message : { ...message, asked: kept }));
}

/** How an engine of this name takes what prompts tell it. */
export function ordersOf(name: string, behaviour: BehaviourInput): Orders {
  const orders = createOrders(name, behaviour);
  return {
    ...orders,
    takeFor: (messages, inBody) => {
      return { ...orders.takeFor(struck(messages), inBody), ...mannersOf(messages) };
    },
  };
}

const textOf = (value: string | number | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

/** The cluster through which Envoy reaches the provider of web search. */
export const searchCluster = 'web_search';

export interface NetworkOptions {
  readonly scheduler: Scheduler;
  readonly engines: ReadonlyMap<string, SimulatedEngine>;
  readonly search: SearchProviderModel;
  /** Whether a program can reach the engines. */
  readonly isCut: () => boolean;
  readonly seed: number;
}

/** A program's calls of engines, over a network that takes its time and keeps the order of each connection. */
export function createUpstream(
  program: Program,
  { scheduler, engines, search, isCut, seed }: NetworkOptions,
): Upstream & { readonly openCalls: () => number } {
  const open = new Map<Connection, string>();
  const chance: Chance = seededChance(seed);
  const ends = new Map<Connection, () => void>();
  program.onDeath(() => {
    for (const end of ends.values()) end();
  });

  return {
    inFlight: (cluster) => [...open.values()].filter((name) => name === cluster).length,
    openCalls: () => open.size,
    call: (call, listener) => {
      let isOver = false;
      let isPaused = false;
      let lastArrival = 0;
      let waiting: (() => void)[] = [];
      const onClose: (() => void)[] = [];
      const held: (() => void)[] = [];
      const wayMs = 0.2 + chance() * 2;
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        open.delete(connection);
        ends.delete(connection);
        for (const run of onClose) run();
        for (const run of waiting) run();
        waiting = [];
      };
      const runHere = (run: () => void): void => {
        if (isOver) return;
        if (isPaused) held.push(run);
        else run();
      };
      const connection: Connection = {
        listener,
        isOver: () => isOver || !program.isAlive(),
        end,
        onClose: (run) => void onClose.push(run),
        untilReady: () => (isPaused && !isOver ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
        deliver: (run) => {
          // Bytes of one connection arrive in their order.
          lastArrival = Math.max(lastArrival, scheduler.now() + wayMs) + 0.000_001;
          program.deliver(lastArrival - scheduler.now(), () => runHere(run));
        },
      };
      open.set(connection, call.cluster);
      ends.set(connection, end);
      scheduler.after(wayMs, () => {
        if (isOver) return;
        if (!program.isAlive()) {
          end();
          return;
        }
        // A partition swallows what is sent.
        if (isCut()) return;
        if (call.cluster === searchCluster) {
          search.answer(call, connection);
          return;
        }
        const engine = engines.get(call.endpoint ?? '');
        if (engine === undefined) {
          connection.deliver(() => listener.failed('NO_ENDPOINT'));
          connection.deliver(end);
        } else engine.answer(call, connection);
      });
      return {
        abort: end,
        reached: () => new Promise((resolve) => program.deliver(0.1, () => resolve(!isCut()))),
        pause: () => {
          isPaused = true;
        },
        resume: () => {
          isPaused = false;
          const [runs, ready] = [held.splice(0), waiting];
          waiting = [];
          // In the order in which they came, and before what comes later.
          for (const run of runs) run();
          for (const run of ready) run();
        },
      };
    },
  };
}
