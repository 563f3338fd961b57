import type { ServedApi } from '../../src/core/api-paths.ts';
import { chatSurfaces } from '../../src/core/dialect.ts';
import { allowsModel } from '../../src/core/model-patterns.ts';
import { expect } from 'vitest';
import type { Credential, Outcome, Store } from '../../src/core/account.ts';
import type { RequestHead } from '../../src/core/exchange.ts';
import type { Failure } from '../../src/core/failure.ts';
import type { PreparedRequest } from '../../src/core/prompt.ts';
import { endOf, type RequestEnd } from '../../src/telemetry/core/request-end.ts';
import type { Telemetry } from '../../src/gateway/core/telemetry.ts';
import type { RequestTrace } from '../../src/core/trace.ts';
import { shownCredential } from '../../src/books/core/shown-credential.ts';
import { createAddressGate } from '../../src/gateway/admission/address-gate.ts';
import { overloadLimits } from '../../src/gateway/admission/overload.ts';
import { uploadLimits, type UploadLimits } from '../../src/gateway/admission/body-charges.ts';
import { createUploads } from '../../src/gateway/admission/uploads.ts';
import { createSnapshots } from '../../src/control/catalog/snapshots.ts';
import { createHedgeBudget } from '../../src/gateway/dispatch/hedge.ts';
import { createStructureRetries } from '../../src/gateway/dispatch/retries.ts';
import { createAnswerLengths } from '../../src/gateway/metering/expected-output.ts';
import { createMemoryLimits } from '../../src/gateway/rate-limits/memory.ts';
import { createAffinity } from '../../src/gateway/routing/affinity.ts';
import { neverSeen } from '../../src/gateway/routing/health/route-status.ts';
import { createSystemPlacement } from '../../src/gateway/routing/system-placement.ts';
import type { Stories } from '../../src/telemetry/stories/stories.ts';
import { createPipeline } from '../../src/gateway/request/pipeline.ts';
import type { AcceptServices } from '../../src/gateway/request/accept-request.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import type { WebSearch } from '../../src/gateway/request/search-loop.ts';
import { credentialOf } from './credential-of.ts';
import { createFakeClock } from './fake-clock.ts';
import { createFakeExchange, type FakeExchange, type FakeExchangeOptions } from './fake-exchange.ts';
import { createFakeStore } from './fake-store.ts';
import { createFakeUpstream, type FakeCall } from './fake-upstream.ts';
import type { Backend, Model } from '../../src/core/catalog.ts';
import { modelOf, routeOf, snapshotOf } from './route-of.ts';
import { writeAttemptLog } from '../../src/telemetry/core/attempt-log.ts';
import { recordStory } from './record-story.ts';
import { steadyHealth } from './steady-health.ts';
import { noTokenizers, uncounted } from './uncounted.ts';

export const idleMs = 1000;
export const keepAliveMs = 15_000;
export const key = 'sk-weir-good';
export const authorized = { authorization: `Bearer ${key}` };
export const ask = { model: 'demo/tiny', messages: [{ role: 'user', content: 'CANARY-prompt' }] };
export const askStream = { ...ask, stream: true, stream_options: { include_usage: true } };
export const events = 'text/event-stream; charset=utf-8';

export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', model: 'up/x', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const usage = {
  prompt_tokens: 12,
  completion_tokens: 2,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 4 },
};
const usageChunk = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
export const done = 'data: [DONE]\n\n';
export const hello = chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }) + chunk({ content: 'lo' });
export const wholeStream = `${hello}${chunk({}, 'stop')}${usageChunk}${done}`;
export const wholeJson = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage,
});
/** 8 × 150,000 + 4 × 30,000 + 2 × 600,000. */
export const cost = 2_520_000n;

const idleLoad = {
  current: () => ({
    eventLoopDelayMs: 0,
    ownDelayMs: 0,
    memoryShare: 0,
    filesShare: 0,
    medianWaitMs: 0,
    queuedForMs: 0,
  }),
  limits: overloadLimits(1024 ** 3),
};

export interface BeginOptions {
  readonly uploadLimits?: UploadLimits;
  readonly credential?: Credential;
  readonly settleFailure?: Error;
  /** Requests that the service may have open. */
  readonly maxOpen?: number;
  readonly idleMs?: number;
  /** Further models of the catalog. */
  readonly models?: readonly Model[];
  /** What the Backends of the model say. */
  readonly backend?: Partial<Backend>;
  /** Whether calls are on a connection, and whether their engine is usually at work by then. */
  readonly reaches?: boolean;
  readonly isAnswering?: boolean;
  readonly prepare?: AcceptServices['prepare'];
  /** The time at the start, milliseconds. */
  readonly now?: number;
  /** Remembers the requests of this run, and outlives it. */
  readonly stories?: Stories;
  readonly traceOf?: (head: RequestHead) => RequestTrace | undefined;
  readonly search?: WebSearch;
  readonly furtherPaths?: ServedApi['furtherPaths'];
  readonly costHeaders?: 'on';
  /** Finds the credential of a key, in place of `credential`. */
  readonly find?: Store['findCredential'];
}

/** A pipeline over fakes, with a model of two routes, and what it reported. */
export function begin(options: BeginOptions = {}) {
  const accounts = createFakeStore({
    credentials: new Map([[`hash of ${key}`, options.credential ?? credentialOf()]]),
    ...(options.settleFailure === undefined ? {} : { failure: options.settleFailure }),
  });
  const store = { ...accounts, findCredential: options.find ?? accounts.findCredential };
  const clock = createFakeClock(options.now);
  const limits = createMemoryLimits(clock);
  const uploads = createUploads({
    clock,
    limits: options.uploadLimits ?? uploadLimits(1024 ** 3),
  });
  const upstream = createFakeUpstream(options);
  const refusals: Failure[] = [];
  const ends: RequestEnd[] = [];
  const told: Outcome[] = [];
  const faults: string[] = [];
  const waits: number[] = [];
  let released = 0;
  let ids = 0;
  const snapshots = createSnapshots(
    snapshotOf([
      modelOf(
        ['a', 'b'].map((name) => {
          const route = routeOf(name);
          return { ...route, backend: { ...route.backend, ...options.backend } };
        }),
      ),
      modelOf([], { id: 'demo/empty' }),
      ...(options.models ?? []),
      modelOf([routeOf('c', { capabilities: { systemMessages: 'Anywhere' } })], { id: 'demo/anywhere' }),
    ]),
    () => undefined,
  );
  const countRelease = (prepared: PreparedRequest): PreparedRequest => ({
    ...prepared,
    release: () => (released += 1),
  });
  const noStories = { began: () => undefined, ended: () => undefined };
  const telemetry: Telemetry = {
    begin: (request) => {
      const { record, progress, attempt } = recordStory(options.stories ?? noStories, clock, request);
      return {
        progress: (made) => {
          progress(made);
          if (made.kind === 'settled') told.push(made.outcome);
          if (made.kind === 'implausible-usage') faults.push(`${made.routeId} implausible usage`);
          if (made.kind !== 'ended') return;
          ends.push(endOf(record));
          if (made.failure !== undefined) refusals.push(made.failure);
        },
        attempt: (start) => {
          const watch = attempt(start);
          return {
            ...watch,
            ended: (end, facts) => {
              watch.ended(end, facts);
              if (end.kind === 'failed') faults.push(`${start.routeId} ${end.fault.kind}`);
            },
          };
        },
        attemptLog: () => writeAttemptLog(record),
      };
    },
    refused: (_, failure) => refusals.push(failure),
  };
  const pipeline = createPipeline({
    ...{
      store,
      clock,
      limits,
      surfaces: chatSurfaces,
      gate: createAddressGate({ clock }),
      uploads,
      upstream,
      snapshots,
      tokenizers: noTokenizers,
      idleMs: options.idleMs ?? idleMs,
      keepAliveMs,
      load: {
        ...{ ...idleLoad, arrived: (waitedMs) => void waits.push(waitedMs) },
        limits: {
          ...idleLoad.limits,
          ...(options.maxOpen && { openRequests: { from: options.maxOpen, to: options.maxOpen } }),
        },
      },
      health: { ...steadyHealth({ isAnswering: () => options.isAnswering ?? false }), ...neverSeen },
      affinityOf: createAffinity(() => 'x'),
      answerLengths: createAnswerLengths(),
      hedges: createHedgeBudget(),
      structureRetries: createStructureRetries({ clock }),
      placement: createSystemPlacement(),
      structures: { check: () => Promise.resolve({ kind: 'valid' }) },
      random: () => 0,
      newId: () => `${(ids += 1)}`,
      modelList: (models) => JSON.stringify({ object: 'list', models }),
      modelEntry: (id, models) => (allowsModel(models, id) ? JSON.stringify({ id, object: 'model' }) : undefined),
      showCredential: shownCredential,
      furtherPaths: options.furtherPaths,
      costHeaders: options.costHeaders,
      traceOf: options.traceOf,
      search: options.search,
    },
    looksLikeKey: (text) => text.startsWith('sk-weir-'),
    hashKey: (text) => `hash of ${text}`,
    sharedSecret: () => 'the shared secret',
    abuseContact: 'abuse@example.com',
    prepare:
      options.prepare ??
      ((body, surface, how) =>
        countRelease(
          prepareHere(body, {
            surface,
            ...how,
            countPrompt: uncounted,
            secret: 'the shared secret',
          }),
        )),
    telemetry,
  });
  const send = (given: FakeExchangeOptions = {}): FakeExchange => {
    const exchange = createFakeExchange({ headers: authorized, body: JSON.stringify(ask), ...given });
    pipeline.handle(exchange);
    return exchange;
  };
  return {
    store,
    clock,
    upstream,
    refusals,
    ends,
    told,
    faults,
    waits,
    pipeline,
    snapshots,
    uploads,
    released: () => released,
    send,
  };
}

export type Run = ReturnType<typeof begin>;
export const bodyOf = (exchange: FakeExchange): unknown => JSON.parse(exchange.text());
export const header = (exchange: FakeExchange, name: string): string | undefined =>
  exchange.headers().find(([each]) => each === name)?.[1];

/** Lets everything that is ready to run do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

/** What must hold after every request, however it ended. */
export async function expectClean({ pipeline, clock, upstream, store, told }: Run, rows: number): Promise<void> {
  await settle();
  expect({
    ...{ rows: store.outcomes.length, told: told.length, inFlight: pipeline.inFlight(), timers: clock.armed() },
    upstream: upstream.inFlight('cluster-a') + upstream.inFlight('cluster-b'),
  }).toEqual({ rows, told: rows, inFlight: 0, timers: 0, upstream: 0 });
}

export const head = (engine: FakeCall, type = events): void => engine.head(200, { 'content-type': type });
