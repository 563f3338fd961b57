import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Cluster } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { EnvoyAdmin } from './admin.ts';

export interface ClusterFile {
  /** Writes an empty set unless there is a file: Envoy does not start without one. */
  readonly prepare: () => Promise<void>;
  /**
   * Gives Envoy this set of clusters, whole, and resolves once Envoy says it has it and routes to it. Calls run one after the other.
   * Rejects with `ClustersRejected` when Envoy takes only a part, and with `EnvoyAway` when Envoy does not answer within
   * the limit; the file stays written then, so that Envoy reads it when it comes.
   */
  readonly apply: (clusters: readonly Cluster[]) => Promise<void>;
  /** Whoever waits for Envoy's word gets `EnvoyAway` at once. */
  readonly close: () => void;
}

/** What Envoy is asked. */
type Asked = Pick<EnvoyAdmin, 'stats' | 'clusters'>;

/** Envoy did not answer within the limit. The file is written, so it has the clusters when it comes. */
class EnvoyAway extends Error {
  constructor() {
    super('Envoy did not confirm the clusters in time; it will read them when it is back.');
    this.name = 'EnvoyAway';
  }
}

/** Envoy has the other clusters of the set, but not these. */
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

export interface ClusterFileOptions {
  readonly admin: Asked;
  readonly runFolder: {
    readonly clustersFolder: string;
    readonly clustersFile: string;
  };
  readonly clock: Clock;
  /** `renderClusters` of envoy/clusters.ts. */
  readonly render: (clusters: readonly Cluster[], version: string) => object;
  /** Envoy's log, where it can be read: the admin interface does not tell why a cluster was refused. */
  readonly envoyLogFile?: string;
  /** How long Envoy may take, its own start included. Default 30 s. */
  readonly confirmWithinMs?: number;
}

/** Envoy has a changed file within a few milliseconds; it tells nobody and has to be asked. */
const askEveryMs = 10;
const askEveryMsWhenAway = 200;

const counters = ['update_attempt', 'update_rejected', 'update_failure', 'version_text'].map(
  (name) => `cluster_manager.cds.${name}`,
);

interface Discovery {
  readonly attempts: number;
  readonly refusals: number;
  readonly version: string;
}

export function createClusterFile(options: ClusterFileOptions): ClusterFile {
  const { admin, runFolder, clock, render } = options;
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;
  let isClosed = false;

  const apply = async (clusters: readonly Cluster[]): Promise<void> => {
    const before = await discovery(admin);
    count += 1;
    // Unlike any version before it, also of an earlier process: the same set again is a version again.
    const digest = createHash('sha256').update(JSON.stringify(clusters)).digest('hex').slice(0, 12);
    const version = `${digest}-${clock.now()}-${count}`;
    await put(runFolder, JSON.stringify(render(clusters, version)));
    const limitMs = options.confirmWithinMs ?? 30_000;
    const verdict = await confirmed({ admin, clock, before, version, limitMs, isOver: () => isClosed });
    if (verdict === 'silent') throw new EnvoyAway();
    const missing = await missingClusters({ admin, clock, clusters });
    if (missing.length > 0) throw new ClustersRejected(missing, await reason(missing, options.envoyLogFile));
    if (verdict === 'refused') throw new Error('Envoy refused the clusters file.');
  };

  return {
    prepare: async () => {
      await mkdir(runFolder.clustersFolder, { recursive: true, mode: 0o700 });
      const text = JSON.stringify(render([], 'none'));
      await writeFile(runFolder.clustersFile, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      });
    },
    apply: (clusters) => {
      const done = last.then(() => apply(clusters));
      last = done.catch(() => undefined);
      return done;
    },
    close: () => {
      isClosed = true;
    },
  };
}

/** Only a file moved into the folder counts as a change for Envoy, and a reader never sees half of one. */
async function put(folder: ClusterFileOptions['runFolder'], text: string): Promise<void> {
  const draft = join(dirname(folder.clustersFolder), 'clusters.json.draft');
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, folder.clustersFile);
}

/** What Envoy says of its clusters file; undefined while it is away. */
function discovery(admin: Asked): Promise<Discovery | undefined> {
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

async function confirmed(options: {
  readonly admin: Asked;
  readonly clock: Clock;
  readonly before: Discovery | undefined;
  readonly version: string;
  readonly limitMs: number;
  readonly isOver: () => boolean;
}): Promise<'taken' | 'refused' | 'silent'> {
  const { admin, clock, version, limitMs, isOver } = options;
  const none: Discovery = { attempts: 0, refusals: 0, version: '' };
  let before = options.before ?? none;
  const start = clock.elapsed();
  while (clock.elapsed() - start < limitMs && !isOver()) {
    const now = await discovery(admin);
    if (now?.version === version) return 'taken';
    // Counters that went back belong to a new Envoy, which has read our file or is about to.
    if (now !== undefined && now.attempts < before.attempts) before = none;
    if (now !== undefined && now.refusals > before.refusals) return 'refused';
    const waitMs = now === undefined ? askEveryMsWhenAway : askEveryMs;
    await new Promise<void>((resolve) => clock.after(waitMs, resolve));
  }
  return 'silent';
}

/** A health check without an answer takes three seconds; after that Envoy has made up its mind about a new cluster. */
const warmWithinMs = 5_000;

/** The clusters that Envoy does not have, once it knows of the others whether they can be used. */
async function missingClusters(options: {
  readonly admin: Asked;
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

const tailBytes = 64 * 1024;

/** The last thing Envoy's log says of one of the clusters. */
async function reason(clusters: readonly string[], logFile: string | undefined): Promise<string> {
  const lines = logFile === undefined ? [] : (await tail(logFile)).split('\n');
  const marks = clusters.map((name) => `cluster '${name}' config rejected: `);
  for (const line of lines.toReversed()) {
    const mark = marks.find((candidate) => line.includes(candidate));
    if (mark !== undefined) return line.slice(line.indexOf(mark) + mark.length);
  }
  return "its log has the reason ('config rejected')";
}

async function tail(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= tailBytes) return await readFile(file, 'utf8');
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(tailBytes), 0, tailBytes, size - tailBytes);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch {
    // The log is a convenience: without it the message says where to look.
    return '';
  }
}
