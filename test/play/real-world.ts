import { readdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { thisMachine } from '../../src/books/databases/machine.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { readMessages } from '../programmable-engine/chat-message.ts';
import { isJsonObject, objectOr } from '../programmable-engine/json-value.ts';
import { promised } from '../simulation/accounts.ts';
import { type Call, call } from '../simulation/caller.ts';
import { windows } from '../simulation/catalog.ts';
import type { MadeCatalog } from '../simulation/check-catalog.ts';
import { earlierAnswer } from '../simulation/earlier-answer.ts';
import { mannersOf } from '../simulation/engines.ts';
import type { FaultEvent, RequestEvent, WorldEvent, WorldPlan } from '../simulation/events.ts';
import { createRoundLog, roundOf, type RoundLog } from '../simulation/heard-rounds.ts';
import { createIssuer } from '../simulation/issuer.ts';
import { createOperator } from '../simulation/operator.ts';
import { createProgram } from '../simulation/program.ts';
import { listIn } from '../simulation/received-choice.ts';
import { keyTextOf } from '../simulation/world.ts';
import type { Spell, World } from '../simulation/world-view.ts';
import { breakIt, type Surroundings } from './disasters.ts';
import { sendExchange } from './http-exchange.ts';
import { playedManifests } from './played-catalog.ts';
import { createRealTime, type RealTime } from './real-time.ts';

/** The world of the simulation's invariants, made of real processes. */
export interface RealWorld extends World {
  readonly time: RealTime;
  /** Numbers of the requests that have reached an engine. */
  readonly heard: Pick<ReadonlySet<number>, 'has'>;
  /** Numbers of those that an engine was asked to continue. */
  readonly continued: ReadonlySet<number>;
  /** Resolves when all events have happened, and their faults are over. */
  readonly happened: Promise<void>;
  /** Notes what is left of requests at rest. */
  readonly noteLeftovers: (left: Readonly<Record<string, number>>) => void;
  readonly stop: () => Promise<void>;
}

/** How long a service may be as before after a fault or a change of the catalog: it may be noticed late on a busy machine. */
const afterMs = 5_000;
/** Most requests that come while a service or a store is away: without either, all are alike. */
const maxMeanwhile = 50;
/** Longest time in which a service notices a change of the manifests' folder. */
const noticedMs = 5_000;

/** Files that hold nothing of requests, and cannot be read at once: sockets. */
const isSocket = (path: string): boolean => path.endsWith('.sock');

function* contentsOf(folders: readonly string[]): Generator<readonly [string, Buffer]> {
  for (const folder of folders)
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !isSocket(path)) yield [path, readFileSync(path)];
    }
}

/** The text of the newest message of the user in the body of a request. */
const lastPromptOf = (body: unknown): string =>
  String(listIn(objectOr(body)['messages']).findLast(({ role }) => role === 'user')?.['content']);

/** The first input of a request for vectors, or the first document of one for ranks. */
const firstTextOf = (body: unknown): string => {
  const { input, documents = input } = objectOr(body);
  return String(Array.isArray(documents) ? documents[0] : documents);
};

/** What has reached engines, read from their journals. */
function listenTo(engines: Surroundings['engines']) {
  /** How many choices each request was first asked for, by its number. */
  const heard = new Map<number, number>();
  const continued = new Set<number>();
  const log = createRoundLog(mannersOf);
  const listen = (): void => {
    for (const { body } of engines.flatMap((engine) => engine.take())) {
      const [, ofTexts] = /of request (\d+), about/.exec(firstTextOf(body)) ?? [];
      if (ofTexts !== undefined) heard.set(Number(ofTexts), 1);
      // Others may ask the same engines.
      const [, number] = /and request (\d+): say/.exec(lastPromptOf(body)) ?? [];
      if (!isJsonObject(body) || number === undefined) continue;
      const messages = readMessages(body['messages']);
      const choices = Number(body['n'] ?? 1);
      const asked = heard.get(Number(number)) ?? choices;
      heard.set(Number(number), asked);
      // A choice of which little was delivered is asked for anew, and alone.
      if (roundOf(messages) === undefined || choices < asked) continued.add(Number(number));
      log.hear(body);
    }
  };
  const rounds: RoundLog = {
    hear: log.hear,
    of: (request) => {
      listen();
      return log.of(request);
    },
  };
  return { heard, continued, rounds, listen };
}

/** Makes the accounts of a plan beside the running services, and lets its events happen from now on. */
export async function startRealWorld(
  given: WorldPlan,
  surroundings: Surroundings & { readonly location: DatabaseLocation },
): Promise<RealWorld> {
  const { gateways, engines, search, issuer, location } = surroundings;
  const issuerName = issuer?.name ?? 'https://issuer.test';
  const time = createRealTime();
  const { scheduler } = time;
  const startsAt = Date.now();
  const observer = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  const { sqlite, postgres } = thisMachine;
  const operator = createOperator({
    ...{ plan: { ...given, startsAt }, scheduler, disk: { files: thisMachine.files }, isLocked: () => false },
    store: { location, observer, machineFor: () => ({ sqlite, postgres }) },
    issuer: issuerName,
  });
  const tokens = createIssuer(issuerName, { seed: given.seed, startsAt, now: Date.now });
  issuer?.publish(tokens.documentAt);
  let areAccountsMade = false;
  const making = operator.open().then(operator.createAccounts);
  void making.catch(() => undefined).finally(() => (areAccountsMade = true));
  await time.run(
    () => areAccountsMade,
    () => undefined,
  );
  await making;

  /** They get the moments at which they happen. */
  const events = given.events.map((event) => ({ ...event }));
  const plan: WorldPlan = { ...given, startsAt, events };
  const callers = createProgram('callers', scheduler, startsAt);
  const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
  const calls: Call[] = [];
  const spells: Spell[] = [];
  const engineSpells: Spell[] = [];
  const searchSpells: Spell[] = [];
  const pauses: Spell[] = [];
  const catalogs: MadeCatalog[] = [{ atMs: 0, factor: 1, window: windows.usual }];
  const { heard, continued, rounds, listen } = listenTo(engines);
  let left: Readonly<Record<string, number>> = {};
  /** Settles when the database is here again: a command beside it would wait for its lock. */
  let here: Promise<unknown> = Promise.resolve();
  /** Faults of services and stores that are not over. */
  const broken = new Set<Promise<void>>();
  time.onLate((fromMs, untilMs) => void spells.push([fromMs, untilMs + afterMs]));

  function request(event: RequestEvent): void {
    const key = operator.keys[event.key];
    if (key === undefined) throw new Error(`there is no key ${event.key}`);
    const origin = gateways.origins[event.service % gateways.origins.length] ?? '';
    const made = call(event, {
      ...{ scheduler, program: callers, key: keyTextOf(event, key, tokens) },
      earlier: event.search?.follows === true ? earlierAnswer(calls, event) : undefined,
      handle: (exchange) => void sendExchange(exchange, { origin, agent, cut: () => made.breakOff() }),
      onEnd: (ended) => scheduler.log.write(`r${event.id} ${ended.end()} ${ended.status() ?? '-'}`),
    });
    // Which life of a service has answered is not known.
    calls.push({
      ...made,
      program: `request ${event.id}`,
      written: () => (made.end() === 'ended' ? made.written() : undefined),
    });
  }

  function swapCatalog(changes: Partial<MadeCatalog>, backends: readonly ('a' | 'b')[] = ['a', 'b']): void {
    const made = { ...catalogs.at(-1), factor: 1, window: windows.usual, ...changes, atMs: scheduler.now() };
    catalogs.push(made);
    pauses.push([made.atMs, made.atMs + noticedMs]);
    gateways.writeCatalog(playedManifests(engines, backends, made));
  }

  /** Notes the time in which the fault is there, and a while after it. */
  async function fault(event: FaultEvent): Promise<void> {
    const ofKind = { engine: engineSpells, search: searchSpells } as const;
    const noted = event.kind === 'engine' || event.kind === 'search' ? ofKind[event.kind] : spells;
    const spell: [number, number] = [scheduler.now(), Infinity];
    noted.push(spell);
    if (event.kind === 'pause') pauses.push(spell);
    const over = breakIt(event, surroundings);
    if (event.kind === 'locked') here = over.catch(() => undefined);
    if (noted === spells) broken.add(over);
    await over.finally(() => broken.delete(over));
    spell[1] = scheduler.now() + afterMs;
  }

  /** Resolves when what the event has begun is over. */
  async function happen(event: WorldEvent): Promise<void> {
    if (event.kind !== 'request') scheduler.log.write(`event ${JSON.stringify(event)}`);
    switch (event.kind) {
      case 'request':
        request(event);
        return;
      case 'prices':
        swapCatalog({ factor: event.factor, window: windows[event.window ?? 'usual'] });
        return;
      case 'retire':
        // What is left may have one endpoint, for which there is no other.
        engineSpells.push([scheduler.now(), scheduler.now() + event.forMs + noticedMs]);
        swapCatalog({}, event.backend === 'a' ? ['b'] : ['a']);
        await new Promise<void>((resolve) => scheduler.after(event.forMs, resolve));
        swapCatalog({});
        return;
      case 'credit':
      case 'correction':
      case 'key-status':
      case 'budget':
      case 'expiry':
      case 'rotate':
      case 'workspace-status':
      case 'payer':
        await here;
        return operator.operate(event);
      case 'kill':
      case 'dies':
      case 'restart':
      case 'power-cut':
      case 'pause':
      case 'clock-jump':
      case 'disk':
      case 'locked':
      case 'engine':
      case 'dns':
      case 'search':
      case 'partition':
      case 'valkey':
        return fault(event);
      case 'issuer':
        if (event.change === 'rotates') tokens.rotate();
        return;
      case 'cluster':
        throw new Error('a real cluster has a suite of its own');
    }
  }

  const happened = inTheirOrder();
  happened.catch(() => undefined);

  /** Lets all events happen, as far from each other as the plan says. Few requests come while a service or a store is away. */
  async function inTheirOrder(): Promise<void> {
    const begun: Promise<void>[] = [];
    let lastAt = 0;
    let meanwhile = 0;
    for (const event of events) {
      await new Promise<void>((resolve) => scheduler.after(event.at - lastAt, resolve));
      lastAt = event.at;
      meanwhile = broken.size === 0 ? 0 : meanwhile + 1;
      if (meanwhile > maxMeanwhile) await Promise.allSettled(broken);
      event.at = scheduler.now();
      const over = happen(event);
      over.catch(() => undefined);
      begun.push(over);
    }
    await Promise.all(begun);
  }

  return {
    ...{ plan, time, scheduler, calls, spells, engineSpells, searchSpells, pauses, catalogs, search, rounds },
    ...{
      heard,
      continued,
      happened,
      isOnDisk: false,
      valkey: undefined,
      cluster: undefined,
      outcomes: undefined,
      attempts: new Map(),
    },
    engines: new Map(engines.map((engine) => [engine.name, engine])),
    services: gateways.origins.map((_, number) => ({
      ...{ number, program: { waiting: () => 0 }, isReady: () => true, leftovers: () => (number === 0 ? left : {}) },
      ...{ store: () => undefined, databaseDownSince: () => undefined },
    })),
    disk: { contents: () => [...contentsOf(gateways.folders)] },
    database: () => observer,
    isContinued: ({ number }) => {
      listen();
      return continued.has(number);
    },
    ...{ keys: operator.keys, workspaceIds: operator.workspaceIds, stoppedAt: operator.stoppedAt },
    ...{ changes: operator.changes, balanceChanges: operator.balanceChanges, issuerSpells: [] },
    ...{ budgetChanges: operator.budgetChanges, payerChanges: operator.payerChanges },
    ...{ learnAccounts: operator.learnAccounts, earlierRows: operator.earlierRows },
    ...{ mutations: operator.mutations, corrections: operator.corrections, faults: [], promised },
    noteLeftovers: (now) => {
      listen();
      left = now;
    },
    stop: async () => {
      const ofOperator = operator.database();
      operator.kill();
      agent.destroy();
      await ofOperator?.close();
      await observer.close();
    },
  };
}
