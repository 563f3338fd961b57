import { checkFirstToken } from '../../src/gateway/admission/overload.ts';
import type { Model } from '../../src/core/catalog.ts';
import type { Endpoint } from '../../src/core/endpoint.ts';
import { scaleOf } from '../../src/gateway/core/backend-scale.ts';
import { Failure } from '../../src/core/failure.ts';
import { createBackendDemands } from '../../src/gateway/routing/pool/backend-demands.ts';
import type { PoolAttempt } from '../../src/gateway/routing/pool/pool-attempt.ts';
import { createPools } from '../../src/gateway/routing/pool/pools.ts';
import { type Chance, chanceFrom } from '../../test/support/chance.ts';
import { endpointOf, modelOf, routeOf, snapshotOf } from '../../test/support/route-of.ts';
import { createEventQueue } from '../event-queue.ts';
import { type AutoscalerOptions, createAutoscaler } from './autoscaler.ts';
import { createEngine, type Engine, type EngineSpeed } from './engine.ts';
import type { PoolRequest } from './request.ts';
import { createTextMaker, exponential, longTailed } from './workloads.ts';

/** A part of the load, with a rate of its own. */
export interface Phase {
  readonly fromMs: number;
  /** Requests a second. */
  readonly rate: number;
}

export interface ScalingOptions extends AutoscalerOptions {
  readonly engine: EngineSpeed;
  /** From the creation of a pod until it is ready. */
  readonly startMs: number;
  /** KEDA and the autoscaler look so often. */
  readonly lookMs: number;
  /** `serviceLevel.firstTokenSeconds`. Undefined: no request is refused for its wait. */
  readonly objectiveMs: number | undefined;
  readonly phases: readonly Phase[];
  readonly untilMs: number;
}

/** A request, and the call that served it. */
export interface ScaledRequest {
  readonly arrivedAt: number;
  /** Of the call that was not refused. Undefined: its caller gave up. */
  readonly sentAt: number | undefined;
  readonly firstAt: number | undefined;
  readonly refusals: number;
}

/** The deployment from one moment on. */
export interface DeploymentState {
  readonly at: number;
  readonly wanted: number;
  readonly ready: number;
}

export interface ScalingResult {
  readonly requests: readonly ScaledRequest[];
  /** Each change. */
  readonly states: readonly DeploymentState[];
}

interface Pod {
  readonly endpoint: Endpoint;
  readonly engine: Engine;
  scheduled: number | undefined;
}

const blockTokens = 256;
/** Callers try again after one second, then two, up to this, and give up after so many times. */
const mostPauseMs = 15_000;
const maxTries = 30;

/**
 * A Backend whose pods are started and ended by an autoscaler, which reads nothing but what `GET /scale/BACKEND` answers. The same
 * seed gives the same result.
 */
export function runScaling(options: ScalingOptions, seed: number): ScalingResult {
  const chance = chanceFrom(seed);
  const queue = createEventQueue();
  let now = 0;
  const route = routeOf('scaled');
  const level = { minAvailability: 0.9, windowSeconds: 900, firstTokenMs: options.objectiveMs };
  const model: Model = modelOf([route], { serviceLevel: level });
  const pods: Pod[] = [];
  let present: readonly Pod[] = [];
  let endpoints: readonly Endpoint[] = [];
  const pools = createPools({ isReported: false });
  const pool = pools.of(route.backend.cluster.name);
  const demands = createBackendDemands({
    ...{ pools, endpoints: { of: () => endpoints }, clock: { elapsed: () => now } },
  });
  demands.follow(snapshotOf([model]));
  const autoscaler = createAutoscaler(options);
  const requests: { -readonly [Field in keyof ScaledRequest]: ScaledRequest[Field] }[] = [];
  const attempts = new Map<number, PoolAttempt>();
  const states: DeploymentState[] = [{ at: 0, wanted: 0, ready: 0 }];
  let wanted = 0;

  function changed(): void {
    endpoints = present.map(({ endpoint }) => endpoint);
    pool.retain(new Set(pods.map(({ endpoint }) => endpoint.name)));
    states.push({ at: now, wanted, ready: present.length });
  }

  function startPod(): void {
    const engine = createEngine(options.engine, blockTokens, {
      first: ({ id, promptTokens }, at, cachedTokens) => {
        const one = requests[id];
        if (one !== undefined) one.firstAt = at;
        attempts.get(id)?.first(at);
        attempts.get(id)?.cached({ promptTokens, cachedTokens });
      },
      ended: ({ id, outputTokens }, at) => {
        attempts.get(id)?.completed(at, outputTokens);
        attempts.delete(id);
      },
    });
    const pod: Pod = { endpoint: endpointOf('scaled', pods.length + 1), engine, scheduled: undefined };
    pods.push(pod);
    queue.add(now + options.startMs, () => {
      if (!isWanted(pod)) return;
      present = [...present, pod];
      changed();
    });
  }

  /** The newest pods end first. Those that end finish their answers. */
  const isWanted = (pod: Pod): boolean => running.includes(pod);
  let running: readonly Pod[] = [];

  function scale(replicas: number): void {
    if (replicas === wanted) return;
    wanted = replicas;
    while (running.length < replicas) {
      startPod();
      running = [...running, ...pods.slice(-1)];
    }
    running = running.slice(0, replicas);
    present = present.filter(isWanted);
    changed();
  }

  function look(): void {
    const scaled = scaleOf('scaled', { demands: demands.read(), replicas: 1, reporting: 1, isWhole: true });
    if (scaled === 'incomplete') throw new Error('the only replica reports');
    scale(autoscaler.look(now, scaled.needed_endpoints));
    queue.add(now + options.lookMs, look);
  }

  function nextStep(pod: Pod): void {
    const at = pod.engine.nextAt();
    if (at === Infinity || pod.scheduled === at) return;
    pod.scheduled = at;
    queue.add(at, () => {
      if (pod.engine.nextAt() !== at) return;
      pod.scheduled = undefined;
      pod.engine.advance(at);
      nextStep(pod);
    });
  }

  function send(request: PoolRequest): void {
    const one = requests[request.id];
    if (one === undefined) return;
    const digests = request.blocks.slice(0, request.promptBlocks);
    const ends = digests.map((_, index) => (index + 1) * blockTokens);
    const prompt = { digests, ends, tokens: request.promptTokens };
    const among = endpoints.map(({ name }) => ({ name, success: 1 }));
    const picked = pool.pick(now, { prompt, among, turn: chance.next() });
    const pod = present[picked?.index ?? -1];
    if (pod === undefined || isRefused(model, pool.firstTokenWait(now, { prompt, among }), chance)) {
      demands.unavailable(model.id);
      one.refusals += 1;
      const pauseMs = Math.min(mostPauseMs, 1000 * 2 ** (one.refusals - 1)) * (0.5 + chance.next() / 2);
      if (one.refusals < maxTries) queue.add(now + pauseMs, () => send(request));
      return;
    }
    one.sentAt = now;
    attempts.set(request.id, pool.begin(now, { name: pod.endpoint.name, prompt, stream: true }));
    pod.engine.submit(request, now);
    nextStep(pod);
  }

  const maker = createTextMaker(blockTokens);
  for (const { at, index } of arrivals(options, chance)) {
    const prompt = longTailed(chance, { mean: 4000, least: 50, most: 30_000 });
    const output = longTailed(chance, { mean: 200, least: 5, most: 2000 });
    const request = maker.request(maker.text(), { prompt, output }, index);
    requests.push({ arrivedAt: at, sentAt: undefined, firstAt: undefined, refusals: 0 });
    queue.add(at, () => send(request));
  }
  queue.add(0, look);
  for (let event = queue.next(); event !== undefined && event.at <= options.untilMs; event = queue.next()) {
    now = event.at;
    event.run();
  }
  return { requests, states };
}

function isRefused(model: Model, wait: Parameters<typeof checkFirstToken>[1][number], chance: Chance): boolean {
  try {
    checkFirstToken(model, [wait], () => chance.next());
    return false;
  } catch (error) {
    if (error instanceof Failure) return true;
    throw error;
  }
}

function arrivals(
  { phases, untilMs }: Pick<ScalingOptions, 'phases' | 'untilMs'>,
  chance: Chance,
): readonly { readonly at: number; readonly index: number }[] {
  const times: number[] = [];
  for (const [phase, { fromMs, rate }] of phases.entries()) {
    const toMs = phases[phase + 1]?.fromMs ?? untilMs;
    if (rate === 0) continue;
    for (let at = fromMs + exponential(chance, 1000 / rate); at < toMs; at += exponential(chance, 1000 / rate))
      times.push(at);
  }
  return times.map((at, index) => ({ at, index }));
}
