import type { Outcome } from '../../src/core/account.ts';
import { type Chance, seededChance } from '../programmable-engine/chance.ts';
import { routeOf } from '../support/route-of.ts';
import { accountOf, promised, unknownKey } from './accounts.ts';
import { call, type Call } from './caller.ts';
import { createEndpointList, enginesOf, pace, snapshotWith, windows } from './catalog.ts';
import type { MadeCatalog } from './check-catalog.ts';
import { createCluster } from './cluster/cluster.ts';
import { earlierAnswer } from './earlier-answer.ts';
import type { Spell, World, WorldFault, WorldKey } from './world-view.ts';
import type { SeenAttempt } from './check-attempts.ts';
import { createDeaths } from './deaths.ts';
import { createDisk } from './disk.ts';
import { createEngine, mannersOf } from './engines.ts';
import type { FaultEvent, IssuerEvent, IssuerTrouble, RequestEvent, WorldEvent, WorldPlan } from './events.ts';
import { createIssuer, type Issuer } from './issuer.ts';
import { createOperator } from './operator.ts';
import { createLimitsModels } from './limits-model.ts';
import { createLosses } from './losses.ts';
import { createRoundLog } from './heard-rounds.ts';
import { createProgram, type Program } from './program.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { dataFolder, type SimulatedService, startService } from './service.ts';
import { createSituationLog, type Situations } from './situations.ts';
import { createSearchProvider } from './search-provider.ts';
import { createValkey } from './valkey.ts';
import type { MakeDatabase, WorldDatabase } from './world-database.ts';

const issuerName = 'https://issuer.test';

/** How soon a supervisor starts a service again that has ended with an error. */
const restartMs = 1_000;

export interface RunningWorld extends World {
  readonly runUntil: (ms: number, check: () => void) => Promise<void>;
  /** Ends faults, lets everything come to rest, and leaves one service of each number. */
  readonly calmDown: (check: () => void) => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly situations: () => Situations;
}

/** The text that a request comes with: a token, or that of a key. Of the requests with a key that no one has made, half have a mistyped one. */
export function keyTextOf(event: RequestEvent, { text, later }: WorldKey, issuer: Pick<Issuer, 'tokenOf'>): string {
  const { id, key } = event;
  if (accountOf(key) !== undefined) return issuer.tokenOf(event);
  if (key === unknownKey && id % 2 === 0) return `${text.slice(0, -1)}${text.endsWith('x') ? 'y' : 'x'}`;
  return id % 2 === 0 ? text : (later?.text ?? text);
}

/** Builds a world, and schedules what happens in it. */
export async function createWorld(plan: WorldPlan, makeDatabase: MakeDatabase): Promise<RunningWorld> {
  const { seed } = plan;
  const scheduler: Scheduler = createScheduler(() => database.quiet());
  const { log } = scheduler;
  const chance: Chance = seededChance(seed ^ 0x5eed);
  const loses = createLosses(plan, { scheduler, disturb });
  /** Faults begin when the world has its accounts, and end before its rest. */
  let isInUse = false;
  const disk = createDisk();
  disk.files.mkdirSync(dataFolder);
  const database: WorldDatabase = await makeDatabase({
    ...{ seed, scheduler, disk, chance: seededChance(seed ^ 0x5a17) },
    loses: (what) => isInUse && loses(what),
  });
  const valkey = plan.valkey ? createValkey(scheduler) : undefined;
  const search = createSearchProvider(scheduler, plan.searchProvider);
  const rounds = createRoundLog(mannersOf);
  const engines = new Map(
    enginesOf.map(({ name, endpoint }) => {
      const upstreamModel = routeOf('a').upstreamModel;
      return [endpoint, createEngine({ name, endpoint, upstreamModel, behaviour: pace, rounds }, scheduler)] as const;
    }),
  );
  const services: (SimulatedService | undefined)[] = Array.from({ length: plan.services });
  const programs: (Program | undefined)[] = Array.from({ length: plan.services });
  const cutUntil = Array.from({ length: plan.services }, () => 0);
  const found = Array.from({ length: plan.services }, createEndpointList);
  const calls: Call[] = [];
  const outcomes = new Map<string, Outcome>();
  const attempts = new Map<string, SeenAttempt[]>();
  const spells: Spell[] = [];
  const engineSpells: Spell[] = [];
  const searchSpells: Spell[] = [];
  const pauses: Spell[] = [];
  /** Services that get no new requests, and end. They still learn of catalogs. */
  const leaving = new Set<SimulatedService>();
  const deaths = createDeaths(scheduler, { kill, start });
  let starts = 0;
  let lockedUntil = 0;
  let catalogBackends: ('a' | 'b')[] = ['a', 'b'];
  const catalogs: [MadeCatalog, ...MadeCatalog[]] = [{ atMs: 0, factor: 1, window: windows.usual }];
  const { endpointPlaces: places, backends: like } = plan;
  let catalog = snapshotWith(catalogBackends, { ...catalogs[0], version: 'v0', places, like });
  let isPowerOff = false;
  const isLocked = (): boolean => scheduler.now() < lockedUntil;
  const operator = createOperator({ plan, scheduler, disk, store: database, isLocked, issuer: issuerName });
  const issuer = createIssuer(issuerName, { ...plan, now: () => plan.startsAt + scheduler.now() });
  const issuerSpells: Spell[] = [];
  let issuerTrouble: IssuerTrouble | undefined;
  const reached = { ...issuer, trouble: () => issuerTrouble, learnAccounts: operator.learnAccounts };
  const { keys } = operator;
  const faults: WorldFault[] = [];
  const limitsModel = createLimitsModels({ plan, scheduler, spells }, { keys: () => keys, faults });
  const situations = createSituationLog({
    ...{
      calls,
      now: scheduler.now,
      startsAt: plan.startsAt,
      cluster: plan.cluster,
      stopped: () => operator.stoppedAt.size,
    },
    waitingRows: () => services.reduce((sum, service) => sum + (service?.store()?.waiting() ?? 0), 0),
  });

  const cluster =
    plan.cluster &&
    createCluster({
      plan: { ...plan, cluster: plan.cluster },
      ...{ scheduler, spells, isCut: (number) => scheduler.now() < (cutUntil[number] ?? 0) },
    });

  function disturb(fromMs: number, untilMs: number): void {
    spells.push([fromMs, untilMs]);
  }

  function start(number: number): void {
    if (isPowerOff || services[number] !== undefined) return;
    starts += 1;
    const program = createProgram(`service-${number}.${starts}`, scheduler, plan.startsAt);
    programs[number] = program;
    services[number] = startService({
      ...{ number, program, disk, database, valkey, replicas: plan.services, snapshot: catalog, plan },
      ...{ endpoints: found[number] ?? createEndpointList(), limitsModel: limitsModel() },
      issuer: plan.identities === true ? reached : undefined,
      isLocked,
      network: {
        ...{ scheduler, engines, search, seed: seed + starts },
        isCut: () => scheduler.now() < (cutUntil[number] ?? 0),
      },
      diesAt: (moment) => deaths.diesAt(number, moment),
      chance: seededChance(seed * 31 + starts),
      attempted: (requestId, attempt) => {
        const known = attempts.get(requestId) ?? [];
        known.push(attempt);
        situations.attempted(attempt);
        attempts.set(requestId, known);
        return () => known.length;
      },
      settled: (outcome) => {
        if (outcomes.has(outcome.requestId))
          faults.push({ invariant: 'money', text: `settled twice: ${outcome.requestId}` });
        outcomes.set(outcome.requestId, outcome);
      },
      fatal: () => {
        if (programs[number] !== program) return;
        kill(number);
        scheduler.after(restartMs, () => start(number));
      },
      note: (text) => log.write(`service-${number}.${starts} ${text}`),
      occurred: situations.occurred,
    });
    cluster?.started(number, program);
  }

  function kill(number: number): void {
    const program = programs[number];
    if (program === undefined) return;
    log.write(`${program.name} is killed`);
    program.kill();
    services[number] = undefined;
    programs[number] = undefined;
    for (const each of calls) if (ownerOf.get(each) === program) each.breakOff();
  }

  const ownerOf = new Map<Call, Program>();

  /** Lets the world's time go on until work is done. */
  async function inVirtualTime(work: Promise<void>): Promise<void> {
    let isDone = false;
    void work
      .finally(() => {
        isDone = true;
      })
      .catch(() => undefined);
    for (await database.quiet(); !isDone; await database.quiet()) {
      // Without an event it waits for something real, such as a module that is loaded.
      if (scheduler.waiting() > 0) await scheduler.runUntil(scheduler.now() + 10, () => undefined);
    }
    await work;
  }

  function request(event: RequestEvent): void {
    const ready = services.filter((service) => service?.isReady() === true);
    const wanted = services[event.service % services.length];
    const service = wanted?.isReady() === true ? wanted : ready[event.service % Math.max(1, ready.length)];
    const key = keys[event.key];
    if (service === undefined || key === undefined) {
      log.write(`r${event.id} finds no service`);
      return;
    }
    log.write(
      `r${event.id} ${event.vectors === undefined ? event.surface : 'vectors'} ${event.stream ? 'stream' : 'json'} ${event.model} at ${service.program.name}`,
    );
    const made = call(event, {
      ...{ scheduler, program: service.program, key: keyTextOf(event, key, issuer), handle: service.handle },
      earlier: event.search?.follows === true ? earlierAnswer(calls, event) : undefined,
      onEnd: (ended) => {
        ownerOf.delete(ended);
        log.write(`r${event.id} ${ended.end()} ${ended.status() ?? '-'} ${ended.body().length} bytes`);
      },
    });
    ownerOf.set(made, service.program);
    calls.push(made);
  }

  function swapCatalog(changes: Partial<MadeCatalog> = {}): void {
    const made = { ...(catalogs.at(-1) ?? catalogs[0]), ...changes, atMs: scheduler.now() };
    catalog = snapshotWith(catalogBackends, { ...made, version: `v${catalogs.push(made) - 1}`, places, like });
    for (const service of [...services, ...leaving]) {
      const take = (): void => service?.follow(catalog);
      service?.program.deliver(chance() * 400, take);
      // A watch may say the same again.
      if (chance() < 0.3) service?.program.deliver(chance() * 2_000, take);
    }
  }

  function happen(event: WorldEvent): void {
    const now = scheduler.now();
    situations.happens(event);
    if (event.kind === 'request') {
      request(event);
      return;
    }
    log.write(`event ${JSON.stringify(event)}`);
    switch (event.kind) {
      case 'prices':
        swapCatalog({ factor: event.factor, window: windows[event.window ?? 'usual'] });
        return;
      case 'retire':
        catalogBackends = catalogBackends.filter((backend) => backend !== event.backend);
        if (catalogBackends.length === 0) catalogBackends = [event.backend];
        // What is left may have one endpoint, for which there is no other.
        engineSpells.push([now, now + event.forMs]);
        swapCatalog();
        scheduler.after(event.forMs, () => {
          catalogBackends = ['a', 'b'];
          swapCatalog();
        });
        return;
      case 'credit':
      case 'correction':
      case 'key-status':
      case 'budget':
      case 'expiry':
      case 'rotate':
      case 'workspace-status':
      case 'payer':
        void operator.operate(event);
        return;
      case 'issuer':
        changeIssuer(event);
        return;
      case 'cluster':
        cluster?.happen(event);
        return;
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
        fault(event, now);
    }
  }

  function changeIssuer(event: IssuerEvent): void {
    if (event.change === 'rotates') {
      issuer.rotate();
      return;
    }
    // What is asked meanwhile is not answered for 5 s.
    issuerSpells.push([scheduler.now(), scheduler.now() + event.forMs + 6_000]);
    issuerTrouble = event.change;
    scheduler.after(event.forMs, () => {
      issuerTrouble = undefined;
    });
  }

  function cutDisk(): void {
    disk.cutPower(seededChance(seed + Math.floor(scheduler.now())));
    database.powerCut();
  }

  /** Ends all programs of the machine. `cut`: what then happens to the disk. */
  function losePower(downMs: number, cut: () => void): void {
    disturb(scheduler.now(), scheduler.now() + downMs + 6_000);
    for (let number = 0; number < plan.services; number += 1) kill(number);
    for (const each of ownerOf.keys()) each.breakOff();
    operator.kill();
    isPowerOff = true;
    cut();
    scheduler.after(downMs, () => {
      isPowerOff = false;
      void operator.open();
      for (let number = 0; number < plan.services; number += 1) start(number);
    });
  }

  function fault(event: FaultEvent, now: number): void {
    switch (event.kind) {
      case 'kill':
        disturb(now, now + event.downMs + 4_000);
        kill(event.service % plan.services);
        scheduler.after(event.downMs, () => start(event.service % plan.services));
        return;
      case 'dies':
        disturb(now, now + event.forMs + event.downMs + 4_000);
        deaths.arm(event.service % plan.services, event);
        return;
      case 'restart': {
        const number = event.service % plan.services;
        const service = services[number];
        if (service?.isReady() !== true) return;
        disturb(now, now + event.downMs + 40_000);
        // It gets no new requests, and ends when those under way have ended.
        const { program } = service;
        services[number] = undefined;
        leaving.add(service);
        program.onDeath(() => leaving.delete(service));
        const waitForEnd = (): void => {
          if (!program.isAlive()) return;
          if (service.inFlight() > 0) scheduler.after(100, waitForEnd);
          else {
            program.deliver(0, () => {
              // After a pause: requests that came in it have begun meanwhile.
              if (service.inFlight() > 0) {
                waitForEnd();
                return;
              }
              void Promise.all([cluster?.leave(program), service.close()]).then(() => {
                log.write(`${program.name} has ended`);
                program.kill();
                if (programs[number] === program) programs[number] = undefined;
                scheduler.after(event.downMs, () => start(number));
              });
            });
          }
        };
        waitForEnd();
        return;
      }
      case 'power-cut':
        if (event.operations === undefined) losePower(event.downMs, cutDisk);
        else
          disk.atOperation(event.operations, (operation) => {
            if (!isInUse || isPowerOff) return false;
            situations.occurred(`a power cut at a ${operation}`);
            // The code that has begun the operation still runs: what it had open is closed when it has ended.
            losePower(event.downMs, () => void scheduler.after(0, cutDisk));
            return true;
          });
        return;
      case 'pause':
        disturb(now, now + event.forMs + 4_000);
        pauses.push([now, now + event.forMs]);
        programs[event.service % plan.services]?.pause(event.forMs);
        return;
      case 'clock-jump':
        programs[event.service % plan.services]?.jump(event.ms);
        disturb(now, now + 2_000);
        return;
      case 'disk':
        disturb(now, now + event.forMs + 4_000);
        disk.setTrouble(event.trouble);
        scheduler.after(event.forMs, () => disk.setTrouble('none'));
        return;
      case 'locked':
        disturb(now, now + event.forMs + 4_000);
        lockedUntil = Math.max(lockedUntil, now + event.forMs);
        return;
      case 'engine': {
        const engine = [...engines.values()].find(({ name }) => name === event.engine);
        if (engine === undefined) return;
        engineSpells.push([now, now + event.forMs]);
        engine.set(event.state);
        if (event.state === 'refuses') engine.breakAll();
        scheduler.after(event.forMs, () => engine.set('up'));
        return;
      }
      case 'dns': {
        const list = found[event.service % plan.services];
        engineSpells.push([now, now + event.forMs]);
        list?.lose(event.engine);
        scheduler.after(event.forMs, () => list?.findAgain(event.engine));
        return;
      }
      case 'search':
        searchSpells.push([now, now + event.forMs]);
        search.set(event.trouble);
        scheduler.after(event.forMs, () => search.set('none'));
        return;
      case 'partition':
        disturb(now, now + event.forMs + 4_000);
        cutUntil[event.service % plan.services] = now + event.forMs;
        return;
      case 'valkey':
        disturb(now, now + event.forMs + 4_000);
        if (event.trouble === 'forgets') valkey?.forget();
        else {
          valkey?.setTrouble(event.trouble);
          scheduler.after(event.forMs, () => valkey?.setTrouble('none'));
        }
    }
  }

  await inVirtualTime(operator.open().then(operator.createAccounts));
  isInUse = true;
  for (let number = 0; number < plan.services; number += 1) start(number);
  for (const event of plan.events) scheduler.after(event.at, () => happen(event));

  return {
    situations: situations.all,
    isOnDisk: database.observer === undefined,
    ...{ plan, scheduler, services, engines, valkey, cluster, disk, calls, outcomes, attempts, spells, engineSpells },
    ...{ search, rounds, searchSpells, pauses, catalogs, faults, promised },
    ...{ keys, workspaceIds: operator.workspaceIds, stoppedAt: operator.stoppedAt },
    database: () => database.observer ?? operator.database(),
    ...{ mutations: operator.mutations, corrections: operator.corrections },
    ...{ changes: operator.changes, balanceChanges: operator.balanceChanges, issuerSpells },
    ...{ budgetChanges: operator.budgetChanges, payerChanges: operator.payerChanges },
    ...{ learnAccounts: operator.learnAccounts, earlierRows: operator.earlierRows },
    isContinued: ({ id }) => attempts.get(id)?.some(({ start }) => start.reason === 'resume') === true,
    runUntil: scheduler.runUntil,
    calmDown: async (check) => {
      isInUse = false;
      for (const each of [disk, valkey]) each?.setTrouble('none');
      lockedUntil = 0;
      for (let number = 0; number < plan.services; number += 1) start(number);
      await scheduler.runUntil(scheduler.now() + 400_000, check);
      // A whole answer that stalls on three routes takes 900 s.
      if (calls.some((call) => call.end() === 'open')) await scheduler.runUntil(scheduler.now() + 900_000, check);
    },
    stop: async () => {
      for (const program of programs) program?.kill();
      operator.kill();
      cluster?.release();
      await database.quiet();
      await database.close();
    },
  };
}
