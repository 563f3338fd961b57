/**
 * The service: the only place that creates its parts. Starts them in the order of their dependencies, and stops them in reverse.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createEgress } from '../../egress/egress.ts';
import { createEnvoyAdmin } from '../../envoy/runtime/admin.ts';
import { createClusterPublisher } from '../../envoy/runtime/cluster-publisher.ts';
import { serveEndpoints } from '../../envoy/runtime/endpoint-discovery.ts';
import { createDownstreamBuffers } from '../../envoy/runtime/downstream-buffers.ts';
import { createLoadShedder } from '../../envoy/runtime/load-shedder.ts';
import { createUpstreamRequests } from '../../envoy/runtime/upstream-requests.ts';
import { listenExtProc } from '../../extproc/server.ts';
import { createMetrics } from '../../telemetry/ops/metrics.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { startOps } from '../../telemetry/ops/server.ts';
import { createStoreLog, createTelemetry } from '../../telemetry/ops/telemetry.ts';
import { systemClock } from '../../process/clock.ts';
import { createProcessLoad, type LoopUse } from '../../process/load.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { memoryLimitBytes, newRequestId, openFilesLimit } from '../../process/machine.ts';
import { tryLock } from '../../process/lock.ts';
import { watchThreads } from '../../process/threads.ts';
import { createSlices, createTurnEnd, createTurnShare } from '../../process/turns.ts';
import { hashKey, looksLikeKey } from '../../store/accounts/key-text.ts';
import { createHostFollower } from '../../resolver/follow-hosts.ts';
import { systemLookUp } from '../../resolver/system-look-up.ts';
import { openStore } from '../../store/open-store.ts';
import { startStructureChecker } from '../../structured-output/checker/start-structure-checker.ts';
import { startTokenizers } from '../../tokenizer/start-tokenizers.ts';
import { startThread } from '../../process/worker-thread.ts';
import { startPrepareWorker } from '../../process/prepare-in-worker.ts';
import {
  admitStepMs,
  createShedWatch,
  filledShare,
  memoryShareToShed,
  nextAdmitRatio,
  overloadLimits,
  shedShare,
} from '../../admission/overload.ts';
import { createUploads, uploadLimits } from '../../admission/uploads.ts';
import type { Cluster, Route, Snapshot } from '../../core/catalog.ts';
import { runFolder } from '../../envoy/config/run-folder.ts';
import { databaseLocation } from '../../store/databases/database-location.ts';
import { createHedgeBudget } from '../../dispatch/hedge.ts';
import { capabilitiesOf } from '../../engines/engines.ts';
import { createStructureRetries } from '../../dispatch/retries.ts';
import { createPipeline, type Pipeline } from '../../request/pipeline.ts';
import { prepareHere } from '../../request/prepare.ts';
import { createAffinity } from '../../routing/affinity.ts';
import { createHealth } from '../../routing/health/health.ts';
import { createSystemPlacement } from '../../routing/system-placement.ts';
import type { RunningProgram } from '../run-program.ts';
import { openCatalog } from '../../control/catalog.ts';
import { createAnswerLengths } from '../../metering/expected-output.ts';
import { createErrorCounts } from '../../telemetry/error-counts.ts';
import { createStories } from '../../telemetry/stories.ts';
import { createModelPerformance } from '../../telemetry/model-performance.ts';
import { createEndpointTable } from '../../control/follow-endpoints.ts';
import { servedSurfaces } from '../../core/api-paths.ts';
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { renderCatalog } from '../../control/live-catalog.ts';
import { checkFile, openGates, startTracing, tokenizerLoader } from './logged-parts.ts';
import { openProblems } from '../../control/observe-problems.ts';
import { placeAtEnvoy } from '../../control/place-at-envoy.ts';
import { watchHealthChecks } from '../../control/health-checks.ts';
import { figuresOf, type ServiceSurroundings } from './service-figures.ts';
import { openPools } from './open-pools.ts';
import { openWebSearch } from './web-search.ts';
import { openDeclaredAccounts } from './declared-accounts.ts';
import type { Settings } from '../../settings.ts';
import { readTracingSettings } from '../../tracing-settings.ts';

/** Bodies up to this size are read on the event loop, which takes about a millisecond, and twenty for a hostile body. */
const largestBodyHere = 128 * 1024;
/** Reading bodies takes at most this much of one turn of the event loop, except for the last body. */
const bodiesPerTurnMs = 5;
/** Longest wait for the last spans. */
const lastSpansMs = 3_000;

const routesOf = ({ models }: Snapshot): readonly Route[] => [...models.values()].flatMap(({ routes }) => routes);

interface RunningService extends RunningProgram {
  /** The state of the service, for a supervisor that decides whether it gets requests. */
  readonly look: () => {
    /** Envoy's streams that are open. */
    readonly open: number;
    /** Whether it refuses half of the new requests, or more. Then other services should be tried first. */
    readonly isOverloaded: boolean;
    readonly loop: LoopUse;
    /** The result of `filledShare`. */
    readonly filled: number;
  };
  /** Finishes what is open, and stops everything. */
  readonly close: () => Promise<void>;
}

/** Starts everything. Resolves when requests can be served, or when `stopped` does. */
export async function startService(
  settings: Settings,
  {
    programLog: { log, output, level: logLevel },
    stopped,
    fatal,
    announce,
    storeThread: thread,
    webhooks,
  }: ServiceSurroundings,
): Promise<RunningService> {
  const tracingSettings = readTracingSettings(process.env);
  const instance = randomUUID();
  const threads = watchThreads();
  // The log of the parts, whose problems may repeat. The catalog and requests limit their own records.
  const partsLog = limitRepeats(log, systemClock);
  const paths = runFolder(settings.WEIR_RUN);
  const url = settings.WEIR_DATABASE_URL;
  const location = databaseLocation(url === undefined ? { data: settings.WEIR_DATA } : { url });
  const logStatus = createStoreLog(partsLog);
  let lookForProblems = (): void => undefined;
  const store = await openStore({
    ...{ thread, location },
    journal: join(settings.WEIR_DATA, 'journal'),
    retentionDays: settings.WEIR_LEDGER_RETENTION_DAYS,
    tryLock,
    onStatus: (status) => {
      logStatus(status);
      lookForProblems();
    },
    onCommit: (commit) => metrics.committed(commit),
    onForeignFile: (path) => partsLog.warn({ path }, 'not a file of the journal: it is ignored'),
  });
  void store.lost.then(fatal);
  const fileCheck = location.kind === 'sqlite' ? checkFile(location.file, partsLog) : undefined;
  const envoyAdmin = createEnvoyAdmin({ adminSocket: paths.adminSocket });
  const place = placeAtEnvoy(settings.WEIR_SERVICE_NUMBER, { paths, admin: envoyAdmin, announce });
  const clusterPublisher = createClusterPublisher({
    ...{ admin: envoyAdmin, runFolder: paths, clock: systemClock },
    shared: place.sharedClusters,
  });
  await clusterPublisher.prepare();
  const discovery = await serveEndpoints({
    socketPath: place.discoverySocket,
    onRefused: (reason) => partsLog.error({ reason }, 'Envoy refused endpoints'),
  });
  // If Envoy starts before this message, it logs a warning for each attempt to reach the service.
  announce({ type: 'listening' });
  const endpoints = createEndpointTable({ clock: systemClock, discovery });
  const memoryBytes = memoryLimitBytes();
  const load = createProcessLoad({ memoryLimitBytes: memoryBytes, collectFromShare: memoryShareToShed });
  const shedder = createLoadShedder({
    shed: place.shed,
    clock: systemClock,
    stepMs: admitStepMs,
    next: (admitRatio) => nextAdmitRatio(admitRatio, load.current()),
  });
  const buffers = createDownstreamBuffers({ admin: envoyAdmin, clock: systemClock });
  const countUpstream = createUpstreamRequests({ admin: envoyAdmin, clock: systemClock });
  const atTurnEnd = createTurnEnd();
  const egress = createEgress({ socketPath: paths.egressSocket, countUpstream, atTurnEnd });
  const { sealing, found, search } = await openWebSearch(settings, egress);
  const tokenizerRoot = settings.WEIR_TOKENIZERS ?? join(settings.WEIR_DATA, 'tokenizers');
  const reading = { imageHosts: settings.WEIR_IMAGE_HOSTS, keepsBillingLines: settings.WEIR_BILLING_LINES === 'keep' };
  const worker = startPrepareWorker({
    script: new URL('../../prepare-worker.ts', import.meta.url),
    tokenizerRoot,
    ...reading,
    sealFiles: sealing,
  });
  const tokenizers = startTokenizers({ root: tokenizerRoot, startThread });
  const loadTokenizers = tokenizerLoader(tokenizers, log);
  const structures = startStructureChecker({ startThread });
  const { limits, addresses, sharing, common } = await openGates(settings, partsLog);
  const pools = openPools(settings, { common, sharing, endpoints });
  const health = createHealth({ clock: systemClock, random: Math.random, endpoints, pools });
  let served: readonly Cluster[] = [];
  const checks = watchHealthChecks({
    clock: systemClock,
    envoy: clusterPublisher,
    clusters: () => served,
    endpoints,
  });
  /** Whether an endpoint passes its health check, and is neither ejected nor cooling off. */
  const isServing = (route: Route): boolean => health.isServing(route, checks.isUsed(route.backend.name));
  const measured = createModelPerformance({
    clock: systemClock,
    hasRoute: ({ routes }) => routes.some(isServing),
    isReachable: ({ routes }) => routes.some(({ backend }) => checks.hasEndpoint(backend.cluster)),
  });
  const errors = createErrorCounts(systemClock);
  const answerLengths = createAnswerLengths();
  let servedAt = systemClock.now();
  const declared = openDeclaredAccounts(settings, location);
  const catalog = await openCatalog(settings, {
    accounts: declared?.parts,
    ...{ log, clock: systemClock, random: Math.random, instance, endpoints },
    environment: process.env,
    envoy: clusterPublisher,
    followHosts: createHostFollower({ clock: systemClock, lookUp: systemLookUp }),
    extraClusters: found === undefined ? [] : [found.cluster],
    isServing,
    ejected: health.ejected,
    record: health.record,
    answerOf: checks.answerOf,
    statusOf: measured.statusOf,
    searchPrice: found === undefined ? undefined : settings.WEIR_WEB_SEARCH_PRICE,
    onServed: (snapshot) => {
      served = snapshot.clusters;
      health.retain(routesOf(snapshot));
      pools.follow(snapshot);
      measured.retain(snapshot.models);
      errors.retain(snapshot);
      servedAt = systemClock.now();
      answerLengths.retain(snapshot.models);
      void loadTokenizers(snapshot);
    },
    onChanged: () => lookForProblems(),
  });
  store.reportReserved(limits.reserved);

  const tracing =
    tracingSettings &&
    (await startTracing(tracingSettings, { socketPath: place.tracesSocket, log: partsLog, settings }));
  const stories = createStories({ process: instance, tellSpans: tracing?.tellSpans });
  const live = { look: catalog.look, statusOf: measured.statusOf, health, endpoints, capabilitiesOf };
  const phase = { isReady: false };
  const figures = figuresOf({
    ...{ settings, store, fileCheck, catalog, isServing, measured, link: sharing },
    ...{ gate: addresses, load, shedder, discovery, threads, output, webhooks },
    servedAt: () => servedAt,
    // `pipeline` and `extproc` are made below.
    underWay: () => ({ requests: pipeline.inFlight(), streams: extproc.open(), uploads }),
    problems: () => problems.report().problems,
    demands: pools.demands.read,
  });
  const metrics = createMetrics(figures, { inSlices: createSlices() });
  const uploads = createUploads({ clock: systemClock, limits: uploadLimits(memoryBytes) });
  const guard = { ...load, limits: overloadLimits(memoryBytes, openFilesLimit()) };
  const readInTurn = createTurnShare({ budgetMs: bodiesPerTurnMs });
  const pipeline: Pipeline = createPipeline({
    store,
    uploads,
    gate: addresses,
    limits,
    ...{ looksLikeKey, hashKey },
    sharedSecret: store.secret,
    abuseContact: settings.WEIR_ABUSE_CONTACT,
    snapshots: catalog.snapshots,
    modelList: catalog.modelList,
    isListed: (model) => measured.statusOf(model).listed,
    prepare: (body, surface) =>
      body.length <= largestBodyHere
        ? readInTurn(() =>
            prepareHere(body, {
              surface,
              ...reading,
              countPrompt: tokenizers.countPrompt,
              ...(search && { seal: search.seal, traces: search.seal }),
            }),
          )
        : worker.prepare(body, surface),
    tokenizers,
    upstream: egress,
    health,
    affinityOf: createAffinity(store.secret),
    answerLengths,
    hedges: createHedgeBudget(),
    structureRetries: createStructureRetries({ clock: systemClock }),
    placement: createSystemPlacement(),
    structures,
    ...{ search, traces: search?.seal, surfaces: servedSurfaces(settings) },
    telemetry: createTelemetry(log, { clock: systemClock, metrics, measured, errors, stories, ...pools }),
    clock: systemClock,
    random: Math.random,
    newId: newRequestId,
    traceOf: tracing?.traceOf,
    load: guard,
    idleMs: settings.WEIR_IDLE_SECONDS * 1000,
    keepAliveMs: settings.WEIR_KEEP_ALIVE_SECONDS * 1000,
  });
  const extproc = await listenExtProc({
    socketPath: place.extprocSocket,
    strangers:
      place.strangersSocket === undefined
        ? undefined
        : {
            socketPath: place.strangersSocket,
            bounds: boundsWithin(portBounds.otherEnvoys, openFilesLimit()),
          },
    handle: pipeline.handle,
    openDelivery: buffers.open,
    atTurnEnd,
    clock: systemClock,
  });
  const refusedShare = (): number => (uploads.isFull() ? 1 : shedShare(pipeline.inFlight(), guard));
  const shedWatch = createShedWatch({ clock: systemClock, shedShare: refusedShare });
  const problems = await openProblems(settings, {
    ...{ figures, store, catalog, errors, refusedShare, announce },
    ...{ clock: systemClock, admin: envoyAdmin, servedAt: () => servedAt, log: partsLog },
  });
  lookForProblems = problems.lookNow;
  const ops = await startOps({
    ...{ host: settings.WEIR_OPS_HOST, port: settings.WEIR_OPS_PORT },
    bounds: boundsWithin(portBounds.ops, openFilesLimit()),
    ...{ metrics: metrics.render, demands: pools.demands.read, clock: systemClock },
    internal: {
      secret: store.secret,
      stories,
      logLevel,
      problems: problems.report,
      catalog: () => renderCatalog({ process: instance, now: systemClock.now, isReady: () => phase.isReady, ...live }),
    },
    unready: () => {
      if (!phase.isReady) return 'starting, or about to end';
      return shedWatch.isSheddingAll() ? 'overloaded, all requests are turned away' : undefined;
    },
  });
  announce({ type: 'ops', port: ops.port });
  let takeBackAddress = (): void => undefined;
  const first = await Promise.race([catalog.ready.then(() => 'ready' as const), stopped]);
  if (first === 'ready') {
    // An earlier process that was restarted may have announced its end to Envoy.
    await envoyAdmin.withdrawEnd().catch(() => undefined);
    phase.isReady = true;
    takeBackAddress = leaveOpsAddress(settings.WEIR_DATA, {
      program: `service-${settings.WEIR_SERVICE_NUMBER ?? 1}`,
      origin: `http://127.0.0.1:${ops.port}`,
    });
    announce({ type: 'ready' });
    log.info({ opsPort: ops.port, models: catalog.snapshots.current().models.size }, 'ready');
  }

  let lingers = false;
  const close = async (): Promise<void> => {
    phase.isReady = false;
    await problems.close();
    // Another replica begins to lead while this one still drains.
    await Promise.all([catalog.leave(), extproc.close(settings.WEIR_DRAIN_SECONDS * 1000)]);
    await catalog.close();
    endpoints.close();
    await discovery.close();
    await shedder.close();
    for (const part of [shedWatch, checks, uploads, load, buffers, envoyAdmin]) part.close();
    takeBackAddress();
    await ops.close();
    await egress.close();
    lingers = (await tracing?.close(lastSpansMs)) === false;
    await worker.close();
    await tokenizers.close();
    await structures.close();
    pools.close();
    await sharing?.close();
    await fileCheck?.close();
    await declared?.close();
    await store.close();
    threads.close();
  };
  const look: RunningService['look'] = () => ({
    ...{ open: extproc.open(), isOverloaded: refusedShare() >= 0.5 },
    ...{ loop: load.takeLoopUse(), filled: filledShare(pipeline.inFlight(), guard) },
  });
  return { look, isIdle: () => extproc.open() === 0, lingers: () => lingers, close };
}
