/** The endpoint picker: the only place that creates its parts. */
import { randomBytes } from 'node:crypto';
import { every } from '../../core/clock.ts';
import { authorityOf, type Endpoint, endpointName, type FoundEndpoints } from '../../core/endpoint.ts';
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { listenPicker } from '../../tools/picker/picker-server.ts';
import { findAccess } from '../../control/kubernetes/access.ts';
import { createKubeClient } from '../../control/kubernetes/client.ts';
import { followPools } from '../../control/kubernetes/follow-pools.ts';
import { createEndpointPicker } from '../../tools/picker/endpoint-picker.ts';
import { createPromptReader } from '../../tools/picker/read-prompt.ts';
import { systemClock } from '../../process/clock.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { startPrepareWorker } from '../../gateway/prepare/prepare-in-worker.ts';
import { createSlices, createTurnEnd } from '../../process/turns.ts';
import { startThread } from '../../process/worker-thread.ts';
import { createAffinity } from '../../gateway/routing/affinity.ts';
import { createEndpointPool } from '../../gateway/routing/pool/pool.ts';
import type { PickerSettings } from '../../process/settings/settings.ts';
import { createPickerMetrics } from '../../telemetry/ops/picker-metrics.ts';
import { startOps } from '../../telemetry/ops/server.ts';
import type { ProgramLog } from '../command-line/program-log.ts';
import { readClientCa, readTlsFiles } from '../command-line/tls-files.ts';

/** Starts everything. Rejects with a sentence when a setting is missing, or when it cannot listen. */
export async function startPicker(
  settings: PickerSettings,
  { programLog: { log } }: { readonly programLog: Pick<ProgramLog, 'log'> },
) {
  const source = sourceOf(settings);
  const tls = readTlsFiles(settings);
  const clientCa = readClientCa(settings.WEIR_PICKER_CLIENT_CA_FILE, { setting: 'WEIR_PICKER_CLIENT_CA_FILE', tls });
  const name = source.kind === 'pool' ? `${source.namespace}/${source.name}` : 'of the given endpoints';
  const worker = startPrepareWorker({ startThread, tokenizerRoot: '', imageHosts: 'any', keepsBillingLines: true });
  const { WEIR_REPLICAS: replicas, WEIR_PICKER_FIRST_TOKEN_SECONDS: firstTokenSeconds } = settings;
  const maxOpenFiles = openFilesLimit();
  let isReady = false;
  const metrics = createPickerMetrics({
    open: () => server.open(),
    endpoints: () => picker.endpoints(),
    inSlices: createSlices(),
  });
  const picker = createEndpointPicker({
    name,
    createPool: () => createEndpointPool(undefined),
    isApart: () => replicas > 1,
    // Pickers of one pool have no secret in common. The name of an owner never leaves the process.
    affinityOf: createAffinity(() => name),
    readPrompt: createPromptReader({ secret: randomBytes(32).toString('hex'), prepare: worker.prepare }),
    retryEndpoints: settings.WEIR_PICKER_RETRY_ENDPOINTS,
    firstTokenMs: firstTokenSeconds === undefined ? undefined : firstTokenSeconds * 1000,
    clock: systemClock,
    random: Math.random,
    events: metrics,
  });
  const server = await listenPicker({
    host: settings.WEIR_PICKER_HOST,
    port: settings.WEIR_PICKER_PORT,
    healthPort: settings.WEIR_PICKER_HEALTH_PORT,
    ...{ tls, clientCa },
    picker,
    atTurnEnd: createTurnEnd(),
    clock: systemClock,
    onCut: (sender) =>
      log.warn({ sender }, 'closed the largest connection: too many incomplete messages or unread answers'),
    bounds: {
      streams: boundsWithin(portBounds.picker, maxOpenFiles),
      health: boundsWithin(portBounds.pickerHealth, maxOpenFiles),
    },
  });
  const ops = await startOps({
    ...{ host: settings.WEIR_OPS_HOST, port: settings.WEIR_OPS_PORT, clock: systemClock, metrics: metrics.render },
    bounds: boundsWithin(portBounds.ops, maxOpenFiles),
    unready: () => (isReady ? undefined : 'the endpoints are not known yet, or it is about to end'),
  });
  const follower = followSource(source, {
    log,
    onFound: ({ endpoints, trouble }) => {
      picker.setEndpoints(endpoints);
      if (trouble === undefined) log.info({ endpoints: endpoints.length }, 'endpoints');
      else log.warn({ trouble }, 'pool has no endpoints');
    },
    onKnown: () => {
      isReady = true;
      server.setReady(true);
      const { port, healthPort } = server;
      log.info({ port, healthPort, opsPort: ops.port, tls: tls !== undefined }, 'ready');
    },
  });
  return {
    port: server.port,
    close: async () => {
      isReady = false;
      await server.close(settings.WEIR_DRAIN_SECONDS * 1000);
      await follower.close();
      await worker.close();
      await ops.close();
    },
  };
}

type Source =
  | { readonly kind: 'pool'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'endpoints'; readonly endpoints: readonly Endpoint[] };

function sourceOf({ WEIR_PICKER_POOL: pool, WEIR_PICKER_ENDPOINTS: given }: PickerSettings): Source {
  if ((pool === undefined) === (given === undefined)) {
    throw new Error(
      'expected either --pool NAMESPACE/NAME (WEIR_PICKER_POOL) or --endpoint IP:PORT (WEIR_PICKER_ENDPOINTS)',
    );
  }
  if (pool !== undefined) return { kind: 'pool', ...pool };
  const endpoints = (given ?? []).map(({ host: address, port }): Endpoint => {
    const authority = authorityOf({ host: address, port }, 'http');
    return { name: endpointName(address, port), address, port, authority, zone: undefined };
  });
  return { kind: 'endpoints', endpoints };
}

interface SourceOptions extends Pick<ProgramLog, 'log'> {
  readonly onFound: (found: FoundEndpoints) => void;
  /** From now on, no endpoint means that there is none. */
  readonly onKnown: () => void;
}

/** How often the follower is asked whether the API server has listed everything, ms. */
const lookMs = 100;

function followSource(
  source: Source,
  { log, onFound, onKnown }: SourceOptions,
): { readonly close: () => Promise<void> } {
  if (source.kind === 'endpoints') {
    onFound({ endpoints: source.endpoints, trouble: undefined });
    onKnown();
    return { close: () => Promise.resolve() };
  }
  const access = findAccess(process.env);
  const client = createKubeClient(access);
  const follower = followPools({
    client,
    namespace: source.namespace,
    clock: systemClock,
    random: Math.random,
    kept: new Map(),
    onChange: () => undefined,
    onTroubles: (troubles) => {
      for (const trouble of troubles) log.warn({ watch: 'endpoints', ...trouble }, 'watch failed');
    },
  });
  follower.follow({ kind: 'inference-pool', pool: source.name }, { scheme: 'http', onFound });
  const stopLooking = every(systemClock, lookMs, () => {
    if (follower.inStepAt() === undefined) return;
    stopLooking();
    onKnown();
  });
  return {
    close: async () => {
      stopLooking();
      await follower.close();
      await client.close();
    },
  };
}
