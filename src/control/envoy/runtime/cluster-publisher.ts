import { open, stat } from 'node:fs/promises';
import type { Cluster } from '../../../core/catalog.ts';
import type { Clock } from '../../../core/clock.ts';
import { renderClusters } from '../config/clusters.ts';
import type { EnvoyAdmin, EnvoyFailingEndpoint } from './admin.ts';
import { type ClustersFileOptions, isReached, openClustersFile } from './clusters-file.ts';

/** The clusters that Envoy has, as Envoy reports them. */
export interface EnvoyClusters {
  /** Names of the clusters that can be called. */
  readonly active: ReadonlySet<string>;
  /** Endpoints by the name of their backend. */
  readonly endpoints: ReadonlyMap<string, EnvoyEndpoints>;
}

/** The endpoints of a backend, as Envoy reports them. */
export interface EnvoyEndpoints {
  readonly total: number;
  /** Endpoints that Envoy uses: neither their health check nor connections to them fail. */
  readonly healthy: number;
  /** The other endpoints in the order of their names, as far as Envoy was asked for them. */
  readonly failing: readonly EnvoyFailingEndpoint[];
}

/** Gives Envoy the clusters of the catalog, through the file that Envoy watches. */
export type ClusterPublisher = ReturnType<typeof createClusterPublisher>;

/** Envoy did not answer within the limit. The file is written: Envoy reads it when it starts. */
class EnvoyAway extends Error {
  constructor() {
    super('Envoy did not confirm the clusters in time. It reads them when it answers again.');
    this.name = 'EnvoyAway';
  }
}

/** Envoy has refused these clusters, and has all others. */
export class ClustersRejected extends Error {
  readonly clusters: readonly string[];
  readonly reason: string;

  constructor(clusters: readonly string[], reason: string) {
    super(`Envoy refused the clusters ${clusters.join(', ')}: ${reason}`);
    this.name = 'ClustersRejected';
    this.clusters = clusters;
    this.reason = reason;
  }
}

interface ClusterPublisherOptions extends Pick<ClustersFileOptions, 'shared'> {
  readonly admin: Pick<EnvoyAdmin, 'stats' | 'statsLike' | 'clusters' | 'failingEndpoints'>;
  readonly runFolder: Pick<ClustersFileOptions, 'clustersFolder' | 'clustersFile'>;
  readonly clock: Clock;
  /** Envoy's log, if it can be read: the admin interface does not report why a cluster was refused. */
  readonly envoyLogFile?: string;
  /** How long Envoy may take, its own start included. Default 30 s. */
  readonly confirmWithinMs?: number;
}

export function createClusterPublisher(options: ClusterPublisherOptions) {
  const { admin, runFolder, clock, shared, confirmWithinMs: limitMs = 30_000 } = options;
  const file = openClustersFile({ ...runFolder, now: clock.now, render: renderClusters, shared });
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let refused: ReadonlyMap<string, string> = new Map();
  let current: readonly Cluster[] = [];
  let active: { readonly mark: string; readonly names: ReadonlySet<string> } | undefined;

  const publish = async (clusters: readonly Cluster[]): Promise<void> => {
    current = clusters;
    const before = await discovery(admin);
    const version = await file.replace(clusters);
    const answer = await confirmation({ admin, clock, before, version, limitMs, isOver: () => isClosed });
    if (answer === 'silent') throw new EnvoyAway();
    const missing = await missingClusters({ admin, clock, clusters });
    if (missing.length > 0) {
      const reason = await refusalReason(missing, options.envoyLogFile);
      refused = new Map(missing.map((name) => [name, reason]));
      throw new ClustersRejected(missing, reason);
    }
    // If other services write the file, too, the refused clusters are theirs.
    if (answer === 'refused' && shared === undefined) throw new Error('Envoy refused the clusters file.');
    refused = new Map();
  };

  return {
    /** Writes an empty set unless there is a file: Envoy does not start without one. */
    prepare: file.prepare,
    /**
     * Gives Envoy this set of clusters, whole, and resolves once Envoy has confirmed it and routes to it. Calls run one after
     * the other. Rejects with `ClustersRejected` when Envoy accepts only a part, and with `EnvoyAway` when Envoy does not answer
     * within the limit; the file stays written then, and Envoy reads it when it starts.
     */
    publish: (clusters: readonly Cluster[]): Promise<void> => {
      const done = last.then(() => publish(clusters));
      last = done.catch(() => undefined);
      return done;
    },
    /** Names of the clusters of the last set that Envoy refused, with its reason. */
    refused: (): ReadonlyMap<string, string> => refused,
    /** Asks Envoy which clusters it has; undefined while it does not answer. */
    look: async (): Promise<EnvoyClusters | undefined> => {
      try {
        const stats = await admin.statsLike(lookedAt);
        const mark = markOf(stats);
        if (active?.mark !== mark) active = { mark, names: new Set((await admin.clusters()).active) };
        return { active: active.names, endpoints: await withNames(countsOf(stats), { admin, clusters: current }) };
      } catch {
        return undefined;
      }
    },
    /** A `publish` that waits for Envoy's confirmation rejects with `EnvoyAway` at once. */
    close: (): void => {
      isClosed = true;
    },
  };
}

/** Statistics that change with each change of the clusters, also when Envoy has started again. */
const changes =
  /^cluster_manager\.(?:cds\.version_text|cluster_(?:added|modified|removed)|(?:active|warming)_clusters)$/;
const membership = /^cluster\.(.+)\.membership_(total|healthy)$/;
const lookedAt = `${changes.source}|${membership.source}`;

/** While it is the same, Envoy's clusters are, too: their list is an answer that costs Envoy more than its statistics. */
function markOf(stats: ReadonlyMap<string, number | string>): string {
  return JSON.stringify([...stats].filter(([name]) => changes.test(name)));
}

type Counts = Pick<EnvoyEndpoints, 'total' | 'healthy'>;

/** Envoy names these statistics after the backend; while two versions of a backend's cluster exist, the counts are their sum. */
function countsOf(stats: ReadonlyMap<string, number | string>): ReadonlyMap<string, Counts> {
  const counts = new Map<string, { total: number; healthy: number }>();
  for (const [name, value] of stats) {
    const [, backend, what] = membership.exec(name) ?? [];
    if (backend === undefined) continue;
    const ofBackend = counts.getOrInsertComputed(backend, () => ({ total: 0, healthy: 0 }));
    ofBackend[what === 'total' ? 'total' : 'healthy'] = Number(value);
  }
  return counts;
}

/** Most clusters that Envoy is asked about in one look. Clusters without a healthy endpoint come first. */
const maxClusters = 20;

/** Asks Envoy for names only of clusters with failing endpoints, because its answer about each endpoint is long. */
async function withNames(
  counts: ReadonlyMap<string, Counts>,
  { admin, clusters }: Pick<ClusterPublisherOptions, 'admin'> & { readonly clusters: readonly Cluster[] },
): Promise<EnvoyClusters['endpoints']> {
  const healthyOf = ({ backend }: Cluster): number => counts.get(backend)?.healthy ?? 0;
  const asked = clusters
    .filter((cluster) => healthyOf(cluster) < (counts.get(cluster.backend)?.total ?? 0))
    .sort((a, b) => Math.min(1, healthyOf(a)) - Math.min(1, healthyOf(b)))
    .slice(0, maxClusters);
  const failing = asked.length === 0 ? new Map() : await admin.failingEndpoints(asked.map(({ name }) => name));
  const namesOf = (backend: string): readonly EnvoyFailingEndpoint[] =>
    asked
      .filter((cluster) => cluster.backend === backend)
      .flatMap(({ name }) => failing.get(name) ?? [])
      .sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
  return new Map([...counts].map(([backend, both]) => [backend, { ...both, failing: namesOf(backend) }]));
}

const counters = ['update_attempt', 'update_rejected', 'update_failure', 'version_text'].map(
  (name) => `cluster_manager.cds.${name}`,
);

/** Envoy's progress with its clusters file. */
interface Discovery {
  readonly attempts: number;
  readonly refusals: number;
  readonly version: string;
}

/** Asks Envoy for its progress; undefined while it does not answer. */
function discovery(admin: ClusterPublisherOptions['admin']): Promise<Discovery | undefined> {
  return admin.stats(counters).then(
    (stats) => {
      const number = (name: string): number => Number(stats.get(`cluster_manager.cds.${name}`) ?? 0);
      return {
        attempts: number('update_attempt'),
        refusals: number('update_rejected') + number('update_failure'),
        version: String(stats.get('cluster_manager.cds.version_text') ?? ''),
      };
    },
    () => undefined,
  );
}

/** Envoy reads a changed file within a few milliseconds. It sends no notice, so the service has to ask. */
const askEveryMs = 10;
const askEveryMsWhenAway = 200;

async function confirmation(options: {
  readonly admin: ClusterPublisherOptions['admin'];
  readonly clock: Clock;
  readonly before: Discovery | undefined;
  readonly version: string;
  readonly limitMs: number;
  readonly isOver: () => boolean;
}): Promise<'accepted' | 'refused' | 'silent'> {
  const { admin, clock, version, limitMs, isOver } = options;
  const none: Discovery = { attempts: 0, refusals: 0, version: '' };
  let before = options.before ?? none;
  const start = clock.elapsed();
  while (clock.elapsed() - start < limitMs && !isOver()) {
    const now = await discovery(admin);
    if (now !== undefined && isReached(version, now.version)) return 'accepted';
    // Lower counters belong to a new Envoy, which has read the file or is about to.
    if (now !== undefined && now.attempts < before.attempts) before = none;
    if (now !== undefined && now.refusals > before.refusals) return 'refused';
    const waitMs = now === undefined ? askEveryMsWhenAway : askEveryMs;
    await new Promise<void>((resolve) => clock.after(waitMs, resolve));
  }
  return 'silent';
}

/** A health check without an answer takes three seconds; after that Envoy knows whether a new cluster can be used. */
const warmWithinMs = 5_000;

/** The clusters that Envoy does not have. Resolves once Envoy knows whether the other clusters can be used. */
async function missingClusters(options: {
  readonly admin: ClusterPublisherOptions['admin'];
  readonly clock: Clock;
  readonly clusters: readonly Cluster[];
}): Promise<readonly string[]> {
  const { admin, clock } = options;
  const wanted = options.clusters.map(({ name }) => name);
  const start = clock.elapsed();
  for (;;) {
    const { active, warming } = await admin.clusters();
    const missing = wanted.filter((name) => !active.includes(name));
    const waiting = missing.some((name) => warming.includes(name));
    if (!waiting || clock.elapsed() - start > warmWithinMs) return missing.filter((name) => !warming.includes(name));
    await new Promise<void>((resolve) => clock.after(askEveryMs, resolve));
  }
}

/** The last reason in Envoy's log for the refusal of one of the clusters. */
async function refusalReason(clusters: readonly string[], logFile: string | undefined): Promise<string> {
  const lines = logFile === undefined ? [] : (await endOfFile(logFile)).split('\n');
  const marks = clusters.map((name) => `cluster '${name}' config rejected: `);
  for (const line of lines.toReversed()) {
    const mark = marks.find((candidate) => line.includes(candidate));
    if (mark !== undefined) return line.slice(line.indexOf(mark) + mark.length);
  }
  return "its log has the reason ('config rejected')";
}

const tailBytes = 64 * 1024;

async function endOfFile(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(
        Buffer.alloc(tailBytes),
        0,
        tailBytes,
        Math.max(0, size - tailBytes),
      );
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch {
    // If the log cannot be read, the error message refers to it.
    return '';
  }
}
