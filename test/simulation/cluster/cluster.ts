import { seededChance } from '../../programmable-engine/chance.ts';
import type { WorldPlan } from '../events.ts';
import type { Program } from '../program.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Spell } from '../world-view.ts';
import { type ApiRequest, createApiServer } from './api-server.ts';
import { envoyFaults, servedFaults, statusFaults } from './check-convergence.ts';
import type { ApiTrouble, ClusterEvent, ClusterPlan } from './cluster-events.ts';
import { createEnvoy } from './envoy.ts';
import { createOwners } from './objects.ts';
import { type SimulatedReplica, startReplica } from './replica.ts';
import { Wire } from './wire.ts';

/** The Kubernetes cluster of a world, from the point of view of the services that follow it. */
export interface SimulatedCluster {
  /** A program of a service has begun. */
  readonly started: (number: number, program: Program) => void;
  /** A service ends: another one may lead at once. */
  readonly leave: (program: Program) => Promise<void>;
  readonly happen: (event: ClusterEvent) => void;
  /** Promises that have been broken since the last call. */
  readonly faults: () => readonly string[];
  /** The world is over. */
  readonly release: () => void;
}

interface ClusterOptions {
  readonly plan: WorldPlan & { readonly cluster: ClusterPlan };
  readonly scheduler: Scheduler;
  /** Faults of services, which may delay everything. */
  readonly spells: readonly Spell[];
  readonly isCut: (number: number) => boolean;
}

const checkEveryMs = 5_000;
/** So long after the last fault, everything is as the API server has it. Clocks may differ by half a minute. */
const settledMs = 100_000;
/** A watch that went silent is noticed after 150 s. */
const silentMs = 160_000;
/** Envoy is asked for so long before a catalog waits no longer. */
const envoyMs = 40_000;

/** One service: its program, its replica, and what outlives both. */
interface Seat {
  readonly envoy: ReturnType<typeof createEnvoy>;
  program: Program | undefined;
  replica: SimulatedReplica | undefined;
  trouble: ApiTrouble | undefined;
}

export function createCluster({ plan, scheduler, spells: others, isCut }: ClusterOptions): SimulatedCluster {
  const { cluster, seed } = plan;
  const { log } = scheduler;
  const chance = seededChance(seed ^ 0xa915);
  const server = createApiServer(() => plan.startsAt + scheduler.now() + cluster.aheadMs);
  const owners = createOwners(server);
  const spells: Spell[] = [];
  let found: string[] = [];
  let isOn = false;
  let isDown = false;
  let othersWrite = false;
  const wires: Wire[] = [];
  let isTouched = false;
  const touched = (): void => {
    isTouched = true;
  };
  const seats = Array.from({ length: plan.services }, (_, number): Seat => {
    const envoy = createEnvoy(seededChance(seed * 17 + number), touched);
    return { envoy, program: undefined, replica: undefined, trouble: undefined };
  });
  const seatOf = (number: number): Seat => seats[number % plan.services]!;

  function violate(text: string): void {
    found.push(text);
  }

  function join(number: number): void {
    const seat = seatOf(number);
    const { program, envoy } = seat;
    if (!isOn || program?.isAlive() !== true) return;
    const own = seededChance(seed * 131 + scheduler.now());
    const wire = new Wire({
      ...{ program, scheduler, server, chance: own },
      way: {
        trouble: () => (isCut(number) ? 'loses-requests' : seat.trouble),
        isUp: () => !isDown,
        sent: (request) => checkWriter(request, replica),
        arrives: (request) => {
          const isWrite = request.method === 'PUT' || request.method === 'PATCH';
          if (othersWrite && isWrite && chance() < 0.5) owners.touch(request.path);
        },
        // Before it goes on, something may change, and its version be forgotten.
        watchEnds: () => {
          if (chance() < 0.5) return;
          disturb(0);
          for (const service of ['pods-a', 'pods-b'] as const)
            owners.change({ change: 'endpoint', service, number: 3, state: chance() < 0.5 ? 'ready' : 'gone' });
          owners.change({ change: 'price', model: 0, price: 1 + Math.floor(chance() * 9) });
          server.forget();
        },
        delivered: touched,
      },
    });
    const note = (text: string): void => log.write(`${program.name} ${text}`);
    wires.push(wire);
    const replica: SimulatedReplica = startReplica({ number, program, wire, envoy, chance: own, note });
    seat.replica = replica;
    disturb(0);
    program.onDeath(() => {
      if (seat.replica === replica) seat.replica = undefined;
      disturb(0);
    });
  }

  /** Only the leader writes the status and the finalizers of objects. */
  function checkWriter({ method, path }: ApiRequest, replica: SimulatedReplica): void {
    if (method !== 'PATCH' || !/\/(models|backends)\//.test(path)) return;
    if (!replica.isLeading()) violate(`${replica.identity} writes ${path}, and does not lead`);
  }

  const disturb = (forMs: number): void => void spells.push([scheduler.now(), scheduler.now() + forMs]);

  const isCalmFor = (ms: number): boolean => [...spells, ...others].every(([, end]) => end < scheduler.now() - ms);

  function checkAtRest(): void {
    if (!isOn) return;
    scheduler.after(checkEveryMs, checkAtRest);
    if (!isCalmFor(settledMs)) return;
    const alive = seats.flatMap(({ replica }) => replica ?? []);
    for (const replica of alive)
      for (const fault of servedFaults(server, replica)) violate(`${replica.identity}: ${fault}`);
    for (const fault of statusFaults(server, alive.length)) violate(fault);
    const leaders = alive.filter((replica) => replica.isLeading()).map(({ identity }) => identity);
    if (leaders.length !== 1) violate(`${leaders.length} services lead`);
  }

  function begin(): void {
    isOn = true;
    owners.begin();
    for (const number of seats.keys()) join(number);
    scheduler.after(checkEveryMs, checkAtRest);
  }

  async function end(): Promise<void> {
    isOn = false;
    isDown = false;
    othersWrite = false;
    const isCalm = isCalmFor(settledMs);
    for (const seat of seats) seat.trouble = undefined;
    for (const { envoy } of seats) envoy.set('none');
    await Promise.all(seats.flatMap(({ program }) => (program === undefined ? [] : [leave(program)])));
    const left = server.list('leases').flatMap(({ metadata, spec }) => {
      const { holderIdentity = '' } = spec as { readonly holderIdentity?: string };
      return holderIdentity === '' ? [] : [metadata.name];
    });
    if (isCalm && left.length > 0) violate(`the leases ${left.join(', ')} are left`);
  }

  async function leave(program: Program): Promise<void> {
    const seat = seats.find((each) => each.program === program);
    const replica = seat?.replica;
    if (seat === undefined || replica === undefined) return;
    disturb(10_000);
    await replica.close();
    if (seat.replica === replica) seat.replica = undefined;
  }

  function happen(event: ClusterEvent): void {
    if (!isOn) return;
    switch (event.what) {
      case 'object':
        disturb(0);
        owners.change(event);
        return;
      case 'way': {
        const leader = seats.find(({ replica }) => replica?.isLeading() === true);
        const seat = event.service === 'leader' ? (leader ?? seatOf(0)) : seatOf(event.service);
        disturb(event.forMs + 20_000);
        seat.trouble = event.trouble;
        scheduler.after(event.forMs, () => {
          if (seat.trouble === event.trouble) seat.trouble = undefined;
        });
        return;
      }
      case 'watches':
        disturb(event.how === 'silent' ? silentMs : 0);
        seatOf(event.service).replica?.wire.endWatches(event.how);
        return;
      case 'server':
        disturb(event.forMs);
        isDown = true;
        for (const { replica } of seats) replica?.wire.breakAll();
        scheduler.after(event.forMs, () => {
          isDown = false;
        });
        return;
      case 'forgets':
        server.forget();
        return;
      case 'others-write':
        disturb(event.forMs);
        othersWrite = true;
        scheduler.after(event.forMs, () => {
          othersWrite = false;
        });
        return;
      case 'envoy': {
        const { envoy } = seatOf(event.service);
        disturb(event.forMs + envoyMs);
        envoy.set(event.trouble);
        scheduler.after(event.forMs, () => envoy.set('none'));
      }
    }
  }

  scheduler.after(cluster.fromMs, begin);
  scheduler.after(cluster.fromMs + cluster.forMs, () => void end());

  return {
    started: (number, program) => {
      seatOf(number).program = program;
      join(number);
    },
    leave,
    happen,
    release: () => {
      for (const wire of wires) wire.release();
    },
    faults: () => {
      if (isTouched && isOn) {
        isTouched = false;
        const leaders = seats.flatMap(({ replica }) => (replica?.isLeading() === true ? [replica.identity] : []));
        if (leaders.length > 1) violate(`${leaders.join(' and ')} lead at the same time`);
        for (const { replica, envoy } of seats)
          if (replica !== undefined && !envoy.isAway() && !envoy.isBehind())
            for (const fault of envoyFaults(replica, envoy)) violate(`${replica.identity}: ${fault}`);
      }
      const now = found;
      if (now.length > 0) found = [];
      return now;
    },
  };
}
