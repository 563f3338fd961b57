import type { Model, Route } from '../../src/core/catalog.ts';
import type { Fault } from '../../src/core/event.ts';
import type { PreparedRequest } from '../../src/core/prompt.ts';
import { promptShape } from './prompt-shape.ts';
import { capabilitiesOf } from '../../src/gateway/engines/engines.ts';
import { createAffinity } from '../../src/gateway/routing/affinity.ts';
import { createHealth } from '../../src/gateway/routing/health/health.ts';
import { makePlan } from '../../src/gateway/routing/plan.ts';
import { chanceFrom } from './chance.ts';
import { createFakeClock } from './fake-clock.ts';
import { endpointsOf, modelOf, routeOf, snapshotOf } from './route-of.ts';

/** How a simulated engine does at a moment. */
export type Condition = 'well' | 'slow' | 'flaky' | 'half-broken' | 'broken' | 'silent';

export interface SimulatedEngine {
  readonly name: string;
  readonly slots?: number;
  readonly weight?: number;
  /** Mean of the time to the first output; exponentially distributed. */
  readonly firstMs: number;
  /** Mean of the time that the rest of a stream takes. */
  readonly restMs?: number;
}

export interface SimulationOptions {
  readonly engines: readonly SimulatedEngine[];
  readonly seed: number;
  readonly stream?: boolean;
  readonly hedging?: boolean;
  readonly perSecond: number;
  /** Digest of the conversation that a request is a turn of, by its number. */
  readonly conversationOf?: (request: number) => number | undefined;
}

/** What became of one request. */
export interface SimulatedRequest {
  readonly number: number;
  readonly startedAt: number;
  /** The route tried first; undefined when there was none. */
  first?: string;
  /** Whether that was a probe of an ejected route. */
  isProbe?: boolean;
  /** Attempts under way on that backend then, its own included. */
  inFlight?: number;
  servedBy?: string;
  endedAt?: number;
  failed?: boolean;
}

/** Share of its requests that an engine fails. */
const failing: Readonly<Record<Condition, number>> = {
  ...{ well: 0, slow: 0, flaky: 0.3, 'half-broken': 0.5, broken: 1, silent: 0 },
};
/** How much slower a slow engine is. */
const slowFactor = 10;
const broken: Fault = { kind: 'reset', detail: 'simulated' };
/** Mean of an answer's tokens; exponentially distributed. An engine writes them at an even speed. */
const meanTokens = 50;

/** Requests at random moments over engines of which each has its own condition, through the real plan and health. */
export function createSimulation(options: SimulationOptions) {
  const { engines, stream = false, perSecond, conversationOf = () => undefined } = options;
  const chance = chanceFrom(options.seed);
  const clock = createFakeClock();
  const health = createHealth({ clock, random: chance.next, endpoints: endpointsOf() });
  const affinityOf = createAffinity(() => 'simulated');
  const conditions = new Map<string, Condition>();
  const byName = new Map(engines.map((engine) => [engine.name, engine]));
  const routes = engines.map(({ name, slots, weight = 100 }): Route => {
    const route = routeOf(name, { weight });
    return slots === undefined ? route : { ...route, backend: { ...route.backend, maxConcurrentRequests: slots } };
  });
  const model: Model = modelOf(routes);
  const snapshot = snapshotOf([model]);
  const requests: SimulatedRequest[] = [];
  const exponential = (mean: number): number => -mean * Math.log(1 - chance.next());

  function prepared(number: number): PreparedRequest {
    return {
      request: { modelName: model.id, tools: [], sampling: {}, stream, includeUsage: false, inert: [] },
      shape: promptShape({ conversation: conversationOf(number), digest: number }),
      bodyFor: () => '',
      countPrompt: () => Promise.resolve({ kind: 'unknown', reason: 'tokenizer' }),
      blocksFor: () => ({ digests: [], ends: [], length: 0 }),
      release: () => undefined,
    };
  }

  function serve(number: number): void {
    const request: SimulatedRequest = { number, startedAt: clock.elapsed() };
    requests.push(request);
    const asked = prepared(number);
    let left: readonly Route[];
    try {
      const plan = makePlan(asked, { snapshot, capabilitiesOf, turn: chance.next(), health, affinityOf });
      left = plan.routes.map(({ route }) => route);
    } catch {
      request.failed = true;
      return;
    }
    const running = new Map<Route, { readonly abandon: (kind: 'beaten' | 'aborted') => void }>();

    function next(): void {
      const [route, ...others] = left;
      left = others;
      if (route !== undefined) start(route, others);
      else if (running.size === 0) request.failed = true;
    }

    function start(route: Route, others: readonly Route[]): void {
      const { name } = route.backend;
      const isProbe = health.status(route, { stream, capabilities: [] }).state === 'probe';
      const record = health.begin(route, { stream });
      if (record === undefined) {
        next();
        return;
      }
      if (request.first === undefined) {
        const { inFlight } = health.status(route, { stream, capabilities: [] });
        Object.assign(request, { first: name, isProbe, inFlight });
      }
      const engine = byName.get(name);
      const condition = conditions.get(name) ?? 'well';
      const factor = condition === 'slow' ? slowFactor : 1;
      let cancelHedge = (): void => undefined;
      let cancelTimer = (): void => undefined;
      running.set(route, {
        abandon: (kind) => {
          cancelTimer();
          cancelHedge();
          record.ended({ kind });
        },
      });
      const advice =
        options.hedging === true
          ? health.hedge(
              { route, endpoint: record.endpoint },
              { stream, others: others.map((other) => ({ route: other, avoid: new Set<string>() })) },
            )
          : undefined;
      if (advice !== undefined) cancelHedge = clock.after(advice.afterMs, next);
      if (condition === 'silent') return;
      if (chance.is(failing[condition])) {
        cancelTimer = clock.after(5, () => {
          cancelHedge();
          running.delete(route);
          record.ended({ kind: 'failed', fault: broken });
          if (running.size === 0) next();
        });
        return;
      }
      cancelTimer = clock.after(exponential(factor * (engine?.firstMs ?? 0)), () => {
        cancelHedge();
        record.output();
        let isOlder = true;
        for (const [other, attempt] of running) {
          if (other === route) isOlder = false;
          else attempt.abandon(isOlder ? 'beaten' : 'aborted');
        }
        left = [];
        const tokens = 1 + Math.round(exponential(meanTokens));
        clock.after(stream ? (factor * (engine?.restMs ?? 0) * (tokens - 1)) / meanTokens : 0, () => {
          record.ended({ kind: 'complete', tokens });
          Object.assign(request, { servedBy: name, endedAt: clock.elapsed() });
        });
      });
    }

    next();
  }

  return {
    clock,
    health,
    routes,
    requests,
    turn: (engine: string, condition: Condition) => conditions.set(engine, condition),
    /** Lets so many more requests come. Those under way at the end stay so. */
    run: (count: number): readonly SimulatedRequest[] => {
      const from = requests.length;
      for (let index = 0; index < count; index += 1) {
        clock.advance(exponential(1000 / perSecond));
        serve(from + index);
      }
      return requests.slice(from);
    },
  };
}

/** Share of these requests that went to a route first, probes aside. */
export function shareOf(requests: readonly SimulatedRequest[], name: string): number {
  const placed = requests.filter(({ first, isProbe }) => first !== undefined && isProbe !== true);
  return placed.filter(({ first }) => first === name).length / placed.length;
}
