import { createKeyBlocks } from '../../gateway/admission/key-blocks.ts';
import { overloadLimits, shedShare } from '../../gateway/admission/overload.ts';
import { uploadLimits } from '../../gateway/admission/body-charges.ts';
import { createUploads } from '../../gateway/admission/uploads.ts';
import type { ServedCatalog } from '../../control/reconcilers/catalog.ts';
import { servedSurfaces } from '../../core/api-paths.ts';
import type { Tokens } from '../../core/identity.ts';
import type { LoadMeter } from '../../core/load.ts';
import { createHedgeBudget } from '../../gateway/dispatch/hedge.ts';
import { createStructureRetries } from '../../gateway/dispatch/retries.ts';
import { systemClock } from '../../process/clock.ts';
import { memoryLimitBytes, newRequestId, openFilesLimit } from '../../process/machine.ts';
import { shareKeyBlocks } from '../../gateway/rate-limits/shared-blocks.ts';
import { createPipeline, type PipelineServices } from '../../gateway/request/pipeline.ts';
import { createAffinity } from '../../gateway/routing/affinity.ts';
import { createSystemPlacement } from '../../gateway/routing/system-placement.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { shownCredential } from '../../books/core/shown-credential.ts';
import { hashKey, looksLikeKey } from '../../books/accounts/key-text.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import type { EnvoyParts } from './envoy-parts.ts';
import type { Gates } from './logged-parts.ts';
import type { measureRoutes } from './measured-routes.ts';
import type { startReaders } from './request-readers.ts';
import type { openWebSearch } from './web-search.ts';

/** The parts of a service that its requests use. */
interface PipelineParts extends Pick<PipelineServices, 'telemetry' | 'traceOf'> {
  readonly store: OpenStore;
  readonly gates: Pick<Gates, 'limits' | 'addresses' | 'common'>;
  readonly catalog: Pick<ServedCatalog, 'snapshots' | 'modelList' | 'modelEntry'>;
  readonly readers: Pick<ReturnType<typeof startReaders>, 'prepare' | 'tokenizers' | 'structures'>;
  readonly envoy: Pick<EnvoyParts, 'egress'>;
  readonly routes: Pick<ReturnType<typeof measureRoutes>, 'measured' | 'health' | 'answerLengths'>;
  readonly search: Awaited<ReturnType<typeof openWebSearch>>['search'];
  readonly load: LoadMeter;
  readonly tokens: Tokens | undefined;
}

/** Opens the way of a request through the service, with the limits that protect the service from too many of them. */
export function openServicePipeline(settings: Settings, parts: PipelineParts) {
  const { store, gates, catalog, readers, envoy, routes, search, load, telemetry, traceOf, tokens } = parts;
  const memoryBytes = memoryLimitBytes();
  const uploads = createUploads({ clock: systemClock, limits: uploadLimits(memoryBytes) });
  const guard = { ...load, limits: overloadLimits(memoryBytes, openFilesLimit()) };
  const isDatabaseUp = (): boolean => store.status().database === 'up';
  const blocks = createKeyBlocks({ clock: systemClock, secret: store.secret, isDatabaseUp });
  const stopSharing = shareKeyBlocks({ link: gates.common, clock: systemClock, blocks });
  const pipeline = createPipeline({
    ...{ store, uploads, telemetry, traceOf, looksLikeKey, hashKey, tokens },
    gate: gates.addresses,
    blockOf: blocks.statusOf,
    limits: gates.limits,
    sharedSecret: store.secret,
    abuseContact: settings.WEIR_ABUSE_CONTACT,
    snapshots: catalog.snapshots,
    modelList: catalog.modelList,
    modelEntry: catalog.modelEntry,
    isListed: (model) => routes.measured.statusOf(model).listed,
    prepare: readers.prepare,
    tokenizers: readers.tokenizers,
    upstream: envoy.egress,
    health: routes.health,
    affinityOf: createAffinity(store.secret),
    answerLengths: routes.answerLengths,
    hedges: createHedgeBudget(),
    structureRetries: createStructureRetries({ clock: systemClock }),
    placement: createSystemPlacement(),
    structures: readers.structures,
    ...{ search, traces: search?.seal, surfaces: servedSurfaces(settings) },
    furtherPaths: settings.WEIR_FURTHER_PATHS,
    costHeaders: settings.WEIR_COST_HEADERS,
    showCredential: shownCredential,
    clock: systemClock,
    random: Math.random,
    newId: newRequestId,
    load: guard,
    idleMs: settings.WEIR_IDLE_SECONDS * 1000,
    keepAliveMs: settings.WEIR_KEEP_ALIVE_SECONDS * 1000,
  });
  return {
    pipeline,
    underWay: () => ({ requests: pipeline.inFlight(), uploads }),
    /** Share of new requests that are refused now. */
    refusedShare: (): number => (uploads.isFull() ? 1 : shedShare(pipeline.inFlight(), guard)),
    blockKey: blocks.add,
    close: () => {
      stopSharing();
      uploads.close();
    },
  };
}
