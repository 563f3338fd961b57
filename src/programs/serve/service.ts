/**
 * The service. Only the files of this folder create its parts. Starts them in the order of their dependencies, and stops them in reverse.
 */
import { randomUUID } from 'node:crypto';
import { type ExtProcServer, listenExtProc } from '../../gateway/extproc/server.ts';
import { createMetrics, type Metrics } from '../../telemetry/ops/metrics.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { type OpsOptions, type OpsServer, startOps } from '../../telemetry/ops/server.ts';
import { createTelemetry } from '../../telemetry/ops/telemetry.ts';
import { systemClock } from '../../process/clock.ts';
import { createProcessLoad } from '../../process/load.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { memoryLimitBytes, openFilesLimit } from '../../process/machine.ts';
import { watchThreads } from '../../process/threads.ts';
import { createSlices } from '../../process/turns.ts';
import type { Snapshot } from '../../core/catalog.ts';
import { createHostFollower } from '../../control/resolver/follow-hosts.ts';
import { systemLookUp } from '../../control/resolver/system-look-up.ts';
import { createShedWatch, type ShedWatch, memoryShareToShed } from '../../gateway/admission/overload.ts';
import { capabilitiesOf } from '../../gateway/engines/engines.ts';
import type { Pipeline } from '../../gateway/request/pipeline.ts';
import type { RunningProgram } from '../command-line/run-program.ts';
import { type CatalogOptions, openCatalog, type ServedCatalog } from '../../control/reconcilers/catalog.ts';
import { createRecentTraffic } from '../../telemetry/performance/recent-traffic.ts';
import { createStories } from '../../telemetry/stories/stories.ts';
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { renderCatalog } from '../../control/reconcilers/live-catalog.ts';
import { openGates, startTracing } from './logged-parts.ts';
import { openProblems } from '../../control/reconcilers/observe-problems.ts';
import { createDoctor } from './examine.ts';
import { figuresOf, type ServiceSurroundings } from './service-figures.ts';
import { type EnvoyParts, openEnvoyParts } from './envoy-parts.ts';
import { openServicePipeline } from './service-pipeline.ts';
import { measureRoutes } from './measured-routes.ts';
import type { OpenPools } from './open-pools.ts';
import { startReaders } from './request-readers.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import { openServiceStore } from './service-store.ts';
import { openTokens } from './open-tokens.ts';
import { openWebSearch } from './web-search.ts';
import { openDeclaredAccounts } from './declared-accounts.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { readTracingSettings } from '../../process/settings/read-settings.ts';

/** Longest wait for the last spans. */
const lastSpansMs = 3_000;

interface RunningService extends RunningProgram, Pick<OpenStore, 'changes'> {
  /** The models of the catalog that is served. */
  readonly models: () => Snapshot['models'];
  /** Finishes what is open, and stops everything. */
  readonly close: () => Promise<void>;
}

/** Starts everything. Resolves when requests can be served, or when `stopped` does. */
export async function startService(settings: Settings, surroundings: ServiceSurroundings): Promise<RunningService> {
  const { programLog, stopped, fatal, announce, storeThread: thread, events, number, dependencies } = surroundings;
  const { log, output, level: logLevel } = programLog;
  const tracingSettings = readTracingSettings(process.env);
  const instance = randomUUID();
  const threads = watchThreads();
  // The log of the parts, whose problems may repeat. The catalog and requests limit their own records.
  const partsLog = limitRepeats(log, systemClock);
  const load = createProcessLoad({ memoryLimitBytes: memoryLimitBytes(), collectFromShare: memoryShareToShed });
  let lookForProblems = (): void => undefined;
  const { store, location, fileCheck } = await openServiceStore(settings, {
    ...{ log: partsLog, thread, fatal },
    onCommit: (commit) => metrics.committed(commit),
    onChanged: () => lookForProblems(),
  });
  const envoy = await openEnvoyParts(settings, { load, announce, number, log: partsLog });
  const { sealing, found, search } = await openWebSearch(settings, envoy.egress, dependencies.of('web-search'));
  const readers = startReaders(settings, { sealing, search, log, secret: store.secret });
  const gates = await openGates(settings, partsLog);
  const routes = measureRoutes(settings, { ...gates, envoy, ...surroundings, changes: store.changes, log: partsLog });
  const { pools, vectors, health, checks, probes, isServing, measured, errors, servedAt } = routes;
  const identities = await openTokens(settings, { location, log: partsLog, report: dependencies.of('token-issuer') });
  const declared = openDeclaredAccounts(settings, location, identities.check);
  const catalog = await openServiceCatalog(settings, {
    ...{ accounts: declared?.parts, log, instance, envoy, routes, readers, found },
    onChanged: () => lookForProblems(),
  });
  store.reportReserved(gates.limits.reserved);

  const { tracesSocket: socketPath } = envoy.place.sockets;
  const tracing = await startTracing(tracingSettings, { socketPath, log: partsLog, settings, number, dependencies });
  const stories = createStories({ process: instance, tellSpans: tracing?.tellSpans });
  const traffic = createRecentTraffic(systemClock, stories.running);
  const live = { look: catalog.look, statusOf: measured.statusOf, health, endpoints: envoy.endpoints, capabilitiesOf };
  const phase = { isReady: false };
  const figures = figuresOf({
    ...{ settings, store, fileCheck, catalog, isServing, measured, vectors, link: gates.sharing },
    ...{ gate: gates.addresses, load, shedder: envoy.shedder, discovery: envoy.discovery, threads, output, events },
    ...{ servedAt, dependencies },
    // `requests` and `extproc` are made below.
    underWay: () => ({ ...requests.underWay(), streams: extproc.open() }),
    problems: () => problems.report().problems,
    demands: pools.demands.read,
  });
  const metrics = createMetrics(figures, { inSlices: createSlices() });
  const requests: ReturnType<typeof openServicePipeline> = openServicePipeline(settings, {
    ...{ store, gates, catalog, readers, envoy, routes, search, load, tokens: identities.tokens },
    telemetry: createTelemetry(log, {
      ...{ clock: systemClock, metrics, measured, errors, stories, traffic, refused: store.refused, ...pools },
    }),
    traceOf: tracing?.traceOf,
  });
  const extproc = await listenForEnvoy(envoy, requests.pipeline);
  const shedWatch = createShedWatch({ clock: systemClock, shedShare: requests.refusedShare, isQuiet: load.isQuiet });
  const problems = await openProblems(settings, {
    ...{ number, figures, store, catalog, errors, refusedShare: requests.refusedShare, announce },
    ...{ clock: systemClock, admin: envoy.admin, servedAt, log: partsLog, avoidable: surroundings.avoidable },
    identities: () => ({ faulty: declared?.parts.faulty ?? new Map(), refused: identities.tokens?.refusals() ?? [] }),
  });
  lookForProblems = problems.lookNow;
  const ops = await startServiceOps(settings, {
    ...{ metrics, pools, isSheddingAll: shedWatch.isSheddingAll, isReady: () => phase.isReady },
    internal: {
      ...{ secret: store.secret, stories, logLevel, traffic, blockKey: requests.blockKey, problems: problems.report },
      doctor: createDoctor({ catalog, endpoints: envoy.endpoints }),
      catalog: () => renderCatalog({ process: instance, now: systemClock.now, isReady: () => phase.isReady, ...live }),
    },
  });
  announce({ type: 'ops', port: ops.port });
  phase.isReady = await canServe({ catalog, vectors, admin: envoy.admin, stopped });
  const takeBackAddress = phase.isReady ? leaveAddress(settings, { number, port: ops.port }) : undefined;
  if (phase.isReady) {
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
    await envoy.close();
    for (const part of [shedWatch, checks, probes, requests, load]) part.close();
    takeBackAddress?.();
    await ops.close();
    await envoy.egress.close();
    lingers = (await tracing?.close(lastSpansMs)) === false;
    await readers.close();
    pools.close();
    await gates.sharing?.close();
    await fileCheck?.close();
    for (const part of [declared, identities, vectors]) await part?.close();
    await store.close();
    threads.close();
  };
  const models = (): Snapshot['models'] => catalog.snapshots.current().models;
  return { isIdle: () => extproc.open() === 0, lingers: () => lingers, changes: store.changes, close, models };
}

/** Opens the catalog, whose snapshots the parts of the service follow. */
function openServiceCatalog(
  settings: Settings,
  {
    envoy,
    routes: { health, vectors, checks, probes, isWell, measured, follow },
    readers,
    found,
    ...options
  }: Pick<CatalogOptions, 'accounts' | 'log' | 'instance' | 'onChanged'> &
    Pick<Awaited<ReturnType<typeof openWebSearch>>, 'found'> & {
      readonly envoy: EnvoyParts;
      readonly routes: ReturnType<typeof measureRoutes>;
      readonly readers: ReturnType<typeof startReaders>;
    },
): Promise<ServedCatalog> {
  return openCatalog(settings, {
    ...options,
    ...{ clock: systemClock, random: Math.random, endpoints: envoy.endpoints, envoy: envoy.clusters },
    environment: process.env,
    followHosts: createHostFollower({ clock: systemClock, lookUp: systemLookUp }),
    extraClusters: found === undefined ? [] : [found.cluster],
    isServing: isWell,
    ejected: health.ejected,
    slow: health.slow,
    record: health.record,
    answerOf: checks.answerOf,
    probeOf: probes.of,
    vectorsFaults: vectors.faults,
    statusOf: measured.statusOf,
    searchPrice: found === undefined ? undefined : settings.WEIR_WEB_SEARCH_PRICE,
    onServed: (snapshot) => {
      follow(snapshot);
      void readers.loadTokenizers(snapshot);
    },
  });
}

/** Resolves to whether requests can be served, and to false if the service is to stop before. */
async function canServe({
  catalog,
  vectors,
  admin,
  stopped,
}: Pick<EnvoyParts, 'admin'> &
  Pick<ServiceSurroundings, 'stopped'> &
  Pick<ReturnType<typeof measureRoutes>, 'vectors'> & {
    readonly catalog: Pick<ServedCatalog, 'ready'>;
  }): Promise<boolean> {
  const ready = catalog.ready.then(vectors.begin).then(() => true);
  const isReady = await Promise.race([ready, stopped.then(() => false)]);
  // An earlier process that was restarted may have announced its end to Envoy.
  if (isReady) await admin.withdrawEnd().catch(() => undefined);
  return isReady;
}

/** Serves probes, metrics and the portal's questions. */
function startServiceOps(
  { WEIR_OPS_HOST: host, WEIR_OPS_PORT: port }: Settings,
  {
    metrics,
    pools,
    internal,
    isReady,
    isSheddingAll,
  }: Required<Pick<OpsOptions, 'internal'>> &
    Pick<ShedWatch, 'isSheddingAll'> & {
      readonly metrics: Pick<Metrics, 'render'>;
      readonly pools: Pick<OpenPools, 'scale'>;
      readonly isReady: () => boolean;
    },
): Promise<OpsServer> {
  return startOps({
    ...{ host, port, internal, clock: systemClock, metrics: metrics.render, scale: pools.scale },
    bounds: boundsWithin(portBounds.ops, openFilesLimit()),
    unready: () => {
      if (!isReady()) return 'starting, or about to end';
      return isSheddingAll() ? 'overloaded, all requests are turned away' : undefined;
    },
  });
}

/** Leaves the address of the ops port for commands on this machine. Returns a function that takes it back. */
function leaveAddress(
  { WEIR_DATA: data }: Settings,
  { number = 1, port }: Partial<Pick<ServiceSurroundings, 'number'>> & Pick<OpsServer, 'port'>,
): () => void {
  return leaveOpsAddress(data, { program: `service-${number}`, origin: `http://127.0.0.1:${port}` });
}

/** Listens for Envoy's streams: those of the edge, and those of another Envoy, whose connections have bounds. */
function listenForEnvoy({ place, buffers, atTurnEnd }: EnvoyParts, { handle }: Pipeline): Promise<ExtProcServer> {
  const { strangersSocket } = place;
  const bounds = boundsWithin(portBounds.otherEnvoys, openFilesLimit());
  return listenExtProc({
    socketPath: place.sockets.extprocSocket,
    strangers: strangersSocket === undefined ? undefined : { socketPath: strangersSocket, bounds },
    ...{ handle, atTurnEnd, clock: systemClock },
    openDelivery: buffers.open,
  });
}
