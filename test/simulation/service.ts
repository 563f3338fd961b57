import { Buffer } from 'node:buffer';
import { shownCredential } from '../../src/books/core/shown-credential.ts';
import { createAddressGate } from '../../src/gateway/admission/address-gate.ts';
import { overloadLimits } from '../../src/gateway/admission/overload.ts';
import { uploadLimits } from '../../src/gateway/admission/body-charges.ts';
import { createUploads } from '../../src/gateway/admission/uploads.ts';
import { createSnapshots } from '../../src/control/catalog/snapshots.ts';
import { servedSurfaces } from '../../src/core/api-paths.ts';
import type { Outcome } from '../../src/core/account.ts';
import type { Route, Snapshot } from '../../src/core/catalog.ts';
import type { Endpoints } from '../../src/core/endpoint.ts';
import type { Exchange } from '../../src/core/exchange.ts';
import type { StructureAsk } from '../../src/gateway/core/structure.ts';
import { createHedgeBudget } from '../../src/gateway/dispatch/hedge.ts';
import { createStructureRetries } from '../../src/gateway/dispatch/retries.ts';
import { createAnswerLengths } from '../../src/gateway/metering/expected-output.ts';
import { createMemoryLimits, createTallies } from '../../src/gateway/rate-limits/memory.ts';
import { createValkeyLimits } from '../../src/gateway/rate-limits/valkey.ts';
import { createPipeline } from '../../src/gateway/request/pipeline.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import { createAffinity } from '../../src/gateway/routing/affinity.ts';
import { createHealth } from '../../src/gateway/routing/health/health.ts';
import { createPools } from '../../src/gateway/routing/pool/pools.ts';
import { createSystemPlacement } from '../../src/gateway/routing/system-placement.ts';
import { hashKey, looksLikeKey } from '../../src/books/accounts/key-text.ts';
import { connectStore, type OpenStore, type StoreThread } from '../../src/books/store/connect-store.ts';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import type { Machine } from '../../src/books/databases/machine.ts';
import { runStore } from '../../src/books/store/run-store.ts';
import type { StoreRequest } from '../../src/books/store/worker-message.ts';
import { compileSchema } from '../../src/gateway/structured-output/checker/compile-schema.ts';
import { validateText } from '../../src/gateway/structured-output/checker/validate-text.ts';
import { createStories } from '../../src/telemetry/stories/stories.ts';
import { createProvider } from '../../src/gateway/web-search/providers/create-provider.ts';
import { searxng } from '../../src/gateway/web-search/providers/searxng.ts';
import { createSeal } from '../../src/gateway/web-search/seal/seal.ts';
import { parseKeys } from '../../src/gateway/web-search/seal/key-ring.ts';
import type { Chance } from '../programmable-engine/chance.ts';
import { uncounted } from '../support/uncounted.ts';
import { writeAttemptLog } from '../../src/telemetry/core/attempt-log.ts';
import { recordStory } from '../support/record-story.ts';
import { tokenizersOf } from './catalog.ts';
import type { SeenAttempt } from './check-attempts.ts';
import type { Disk } from './disk.ts';
import type { Death, WorldPlan } from './events.ts';
import { endpointPlaces, searchPrice } from './catalog.ts';
import { tooManyPlaces, watchPlaces } from './count-places.ts';
import type { RareThing } from './situations.ts';
import { createUpstream, type NetworkOptions, searchCluster } from './engines.ts';
import type { LimitsModel } from './limits-model.ts';
import type { Program } from './program.ts';
import { openSimulatedTokens, type ReachedIssuer } from './simulated-tokens.ts';
import type { SimulatedValkey } from './valkey.ts';
import type { WorldDatabase } from './world-database.ts';

export interface ServiceOptions {
  readonly number: number;
  readonly program: Program;
  readonly disk: Disk;
  readonly database: WorldDatabase;
  readonly isLocked: () => boolean;
  /** Undefined: limits are in memory. */
  readonly valkey: SimulatedValkey | undefined;
  readonly replicas: number;
  readonly plan: Pick<WorldPlan, 'responses' | 'storeMs' | 'retentionHours' | 'endpointPlaces' | 'backends'>;
  readonly snapshot: Snapshot;
  readonly endpoints: Endpoints;
  readonly limitsModel: LimitsModel;
  /** Of tokens. Undefined: there are keys alone. */
  readonly issuer: ReachedIssuer | undefined;
  readonly network: NetworkOptions;
  /** Whether it has died just now, because of this moment. */
  readonly diesAt: (moment: Death) => boolean;
  readonly chance: Chance;
  readonly settled: (outcome: Outcome) => void;
  /** Returns how many attempts of the request have begun. */
  readonly attempted: (requestId: string, attempt: SeenAttempt) => () => number;
  readonly note: (text: string) => void;
  readonly occurred: (thing: RareThing) => void;
  /** The program ends with an error, and its supervisor starts another one. */
  readonly fatal: () => void;
}

/** A service of a world: the product's parts, connected as `cli/serve/service.ts` connects them. */
export interface SimulatedService {
  readonly number: number;
  readonly program: Program;
  readonly isReady: () => boolean;
  readonly handle: (exchange: Exchange) => void;
  /** Serves this catalog from now on. */
  readonly follow: (catalog: Snapshot) => void;
  readonly inFlight: () => number;
  /** What is left of requests, by name. All of it is zero when nothing runs. */
  readonly leftovers: () => Readonly<Record<string, number>>;
  readonly store: () => OpenStore | undefined;
  /** Since when it knows that the database is away. Undefined: it is not. */
  readonly databaseDownSince: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** All services of a deployment have one key. */
const keys = parseKeys('5e'.repeat(32));
const seal = createSeal(() => keys);

/** Each of its files ends after a row or two, so that an outage fills several of them. */
const journalBytes = 64 * 1024;
export const dataFolder = '/data';

export function startService(options: ServiceOptions): SimulatedService {
  const { number, program, disk, database, valkey, chance, endpoints, plan, note } = options;
  const retentionDays = (plan.retentionHours ?? 24) / 24;
  const clock = program.time;
  const folder = `${dataFolder}/journal/${number}`;
  disk.files.mkdirSync(folder);
  const files: Machine['files'] = {
    ...disk.files,
    unlinkSync: (path) => {
      const isOfJournal = String(path).startsWith(folder);
      if (!isOfJournal || !options.diesAt('before-journal-removed')) disk.files.unlinkSync(path);
    },
  };
  const machine = { time: clock, files, ...database.machineFor(program, options.isLocked) };
  const pools = createPools({ isReported: true });
  const places = plan.endpointPlaces ?? endpointPlaces;
  const health = createHealth({ clock, random: chance, endpoints, pools: { pools, isApart: () => false } });
  const snapshots = createSnapshots(options.snapshot, () => undefined);
  const uploads = createUploads({ clock, limits: uploadLimits(1024 ** 3) });
  const upstream = createUpstream(program, options.network);
  const search = {
    provider: createProvider(searxng(new URL('http://find.example:8888')), {
      ...{ upstream, clock, cluster: searchCluster, readKey: () => Promise.resolve('') },
    }),
    ...{ seal, price: searchPrice },
  };
  const stories = createStories({ process: program.name });
  const sharing =
    valkey &&
    createValkeyLimits({
      address: { kind: 'server', url: 'redis://valkey' },
      connect: () => valkey.connect(program),
      nextTurn: clock.nextTurn,
      ...{ clock, newId: () => idOf(clock.now(), chance), expectedReplicas: options.replicas },
      onUp: () => note('limits are shared'),
      onDown: () => note('limits are not shared'),
    });
  const tallies = createTallies();
  const answerLengths = createAnswerLengths();
  const wayMs = plan.storeMs ?? 0.05;
  const identities =
    options.issuer &&
    openSimulatedTokens({
      ...{ program, machine, location: database.location, issuer: options.issuer, chance, wayMs, note },
    });
  const limits = sharing ?? createMemoryLimits(clock, tallies);
  let store: OpenStore | undefined;
  let pipeline: ReturnType<typeof createPipeline> | undefined;
  let isReady = false;
  let downSince: number | undefined;

  async function open(): Promise<void> {
    const opened = await connectStore(
      inThisThread({
        ...{ program, folder, machine, location: database.location, retentionDays },
        ...{ diesAt: options.diesAt, occurred: options.occurred, wayMs },
      }),
      {
        ...{ kind: database.location.kind, journalBytes, retentionDays },
        onStatus: ({ database: state }) => {
          note(`database ${state}`);
          downSince = state === 'down' ? (downSince ?? options.network.scheduler.now()) : undefined;
        },
      },
      clock,
    );
    store = opened;
    void opened.lost.then(options.fatal);
    opened.reportReserved(limits.reserved);
    pipeline = createPipeline({
      ...{ store: opened, clock, uploads, upstream, snapshots, looksLikeKey, hashKey },
      tokens: identities?.tokens,
      health: watchPlaces(health, places, options.limitsModel.violate),
      limits: options.limitsModel.watch(limits, program.onDeath),
      gate: createAddressGate({ clock }),
      tokenizers: tokenizersOf(plan.backends),
      surfaces: servedSurfaces({ WEIR_RESPONSES: plan.responses ? 'stateless' : 'off' }),
      ...{ search, traces: seal },
      idleMs: 30_000,
      keepAliveMs: 15_000,
      load: idleLoad,
      affinityOf: createAffinity(opened.secret),
      answerLengths,
      hedges: createHedgeBudget(),
      structureRetries: createStructureRetries({ clock }),
      placement: createSystemPlacement(),
      structures: { check: (ask) => Promise.resolve(checkStructure(ask)) },
      random: chance,
      newId: () => idOf(clock.now(), chance),
      modelList: () => '{"object":"list","data":[]}',
      modelEntry: () => undefined,
      showCredential: shownCredential,
      sharedSecret: opened.secret,
      abuseContact: 'abuse@example.com',
      prepare: (body, surface) =>
        prepareHere(body, { surface, countPrompt: uncounted, seal, traces: seal, secret: opened.secret() }),
      telemetry: {
        begin: (request) => {
          const { record, progress, attempt } = recordStory(stories, clock, request);
          return {
            progress: (made) => {
              progress(made);
              if (made.kind === 'settled') options.settled(made.outcome);
            },
            attempt: (start) => {
              const seen: SeenAttempt = { start, ended: undefined };
              const begun = options.attempted(request.requestId, seen);
              const watched = attempt(start);
              return {
                ...watched,
                ended: (end, facts) => {
                  seen.ended ??= { how: end.kind, begun: begun() };
                  watched.ended(end, facts);
                },
              };
            },
            attemptLog: () => writeAttemptLog(record),
          };
        },
        refused: () => undefined,
      },
    });
    isReady = true;
    note('ready');
  }

  // Messages that take long may be under way at the same time.
  const resting = restingTimers[sharing === undefined ? 'alone' : 'shared'] + (plan.storeMs === undefined ? 0 : 2);
  const routes = (): readonly Route[] => routesOf(snapshots.current());

  void open().catch((error: unknown) => {
    note(`did not start: ${String(error)}`);
    options.fatal();
  });
  return {
    number,
    program,
    // As `programs/serve/measured-routes.ts` does.
    follow: (catalog) => {
      snapshots.swap(catalog);
      health.retain(routesOf(catalog));
      answerLengths.retain(catalog.models);
    },
    isReady: () => isReady && program.isAlive(),
    handle: (exchange) => pipeline?.handle(exchange),
    inFlight: () => pipeline?.inFlight() ?? 0,
    leftovers: () => ({
      requests: pipeline?.inFlight() ?? 0,
      calls: upstream.openCalls(),
      reservations: limits.reserved().size,
      // Shared limits are counted at the model of Valkey.
      'workspaces with slots': [...tallies.workspaces()].length,
      'budgets with slots': [...tallies.budgets()].length,
      'uploads in flight': uploads.arriving(),
      'bytes of uploads': uploads.bytes(),
      'attempts on backends': sum(routes().map((route) => health.status(route, anything).inFlight)),
      'prompts in pools': sum(pools.takeReport(clock.elapsed()).endpoints.map(({ underWay }) => underWay)),
      'endpoints with places too many': tooManyPlaces(health, routes(), places).length,
      snapshots: snapshots.clustersInUse().length - new Set(snapshots.current().clusters.map(({ name }) => name)).size,
      rows: store?.waiting() ?? 0,
      'timers too many': database.observer === undefined ? Math.max(0, program.waiting() - resting) : 0,
    }),
    store: () => store,
    databaseDownSince: () => downSince,
    close: async () => {
      isReady = false;
      await sharing?.link.close();
      await Promise.all([store?.close(), identities?.close()]);
    },
  };
}

/** With a database on the disk: timers of a service at rest, and messages between its threads. With shared limits, it has its lease and its answer, too. */
const restingTimers = { alone: 4, shared: 6 };
const anything = { stream: true, capabilities: [] };
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
const routesOf = ({ models }: Snapshot): readonly Route[] => [...models.values()].flatMap(({ routes }) => routes);

const idleLoad = {
  current: () => ({
    eventLoopDelayMs: 0,
    ownDelayMs: 0,
    memoryShare: 0,
    filesShare: 0,
    medianWaitMs: 0,
    queuedForMs: 0,
  }),
  ...{ arrived: () => undefined, limits: overloadLimits(1024 ** 3) },
};

function checkStructure({ text, schema, top = 'object' }: StructureAsk) {
  const validate = schema === undefined ? undefined : compileSchema(JSON.stringify(schema));
  return validateText(text, { top, ...(validate === undefined ? {} : { validate }) });
}

/** As `newRequestId`: the time, then chance. */
function idOf(now: number, chance: Chance): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(now, 0, 6);
  for (let at = 6; at < 16; at += 1) bytes[at] = Math.floor(chance() * 256);
  return bytes.toString('base64url');
}

/** The store's thread, in this one. Messages between the two take a moment, and come in their order. */
function inThisThread({
  program,
  folder,
  machine,
  location,
  diesAt,
  occurred,
  wayMs,
  retentionDays,
}: {
  readonly program: Program;
  readonly folder: string;
  readonly machine: Parameters<typeof runStore>[2];
  readonly location: DatabaseLocation;
  readonly diesAt: ServiceOptions['diesAt'];
  readonly occurred: ServiceOptions['occurred'];
  /** How long a message takes. */
  readonly wayMs: number;
  readonly retentionDays: number;
}): StoreThread {
  const early: StoreRequest[] = [];
  let take = (request: StoreRequest): void => void early.push(request);
  return {
    post: (request) => {
      if (request.kind === 'settle' && request.outcomes.length > 1) {
        occurred('a batch of several rows');
        const days = new Set(request.outcomes.map(({ startedAt }) => Math.floor(startedAt / 86_400_000)));
        if (days.size > 1) occurred('a batch of two days');
      }
      program.deliver(wayMs, () => take(request));
    },
    listen: ({ reply, ended }) => {
      program.deliver(wayMs, () => {
        void runStore(
          { location, journalFolder: folder, journalBytes, retentionDays },
          {
            reply: (message) => {
              if (message.kind === 'journaled') occurred('rows in the journal');
              const isCommit = message.kind === 'settled' || message.kind === 'journaled';
              if (!isCommit || !diesAt('after-commit')) program.deliver(wayMs, () => reply(message));
            },
            listen: (handle) => {
              take = handle;
              for (const request of early.splice(0)) handle(request);
            },
            close: () => void program.deliver(wayMs, () => ended(0)),
          },
          machine,
        );
      });
    },
  };
}
