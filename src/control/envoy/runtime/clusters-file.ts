import { hash } from 'node:crypto';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import type { Cluster } from '../../../core/catalog.ts';
import { readKeptFile } from '../../../process/kept-file.ts';
import type { ConfigObject } from '../config/typed.ts';

/** The file from which Envoy reads its clusters. */
export type ClustersFile = ReturnType<typeof openClustersFile>;

export interface ClustersFileOptions {
  readonly clustersFolder: string;
  readonly clustersFile: string;
  readonly now: () => number;
  /** `renderClusters` of src/control/envoy/config/clusters.ts. */
  readonly render: (clusters: readonly Cluster[], version: string) => ConfigObject;
  /** Absent for a service that has its Envoy for itself. */
  readonly shared?: SharedClusters | undefined;
}

/** The means by which a service shares the file with other services. */
export interface SharedClusters {
  /** The folder in which each service writes its own clusters. */
  readonly partsFolder: string;
  /** Distinguishes this service from the others, and stays the same over its restarts. */
  readonly name: string;
  /** Runs a function while no other service writes. */
  readonly exclusively: <Result>(run: () => Promise<Result>) => Promise<Result>;
}

const rendered = z.object({ version_info: z.string(), resources: z.array(z.looseObject({ name: z.string() })) });
type Rendered = z.output<typeof rendered>;

/**
 * Opens the file. Several services behind one Envoy follow the catalog each at its own pace: one service may have a new
 * cluster that the others do not know yet, and may still serve a request on a cluster that the others have dropped. So
 * each service writes down its own set, and the file is the union of all sets, whichever service writes it. A cluster
 * of one name has one content (docs/decisions/0005-clusters-are-named-by-content.md).
 */
export function openClustersFile(options: ClustersFileOptions) {
  const { clustersFolder, clustersFile, now, render, shared } = options;
  let last: number | undefined;

  /** Envoy counts only a file moved into the folder as a change, and a reader never sees half a file. */
  async function move(file: string, content: ConfigObject | Rendered): Promise<void> {
    const draft = join(dirname(clustersFolder), `clusters.json.draft${shared === undefined ? '' : `-${shared.name}`}`);
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 });
    await rename(draft, file);
  }

  async function writeOwn(clusters: readonly Cluster[]): Promise<string> {
    last ??= sequenceOf((await readRendered(clustersFile))?.version_info ?? '');
    last = Math.max(last + 1, now());
    const version = versionOf(last, clusters);
    await move(clustersFile, render(clusters, version));
    return version;
  }

  async function writeUnion(clusters: readonly Cluster[], { partsFolder, name }: SharedClusters): Promise<string> {
    await mkdir(partsFolder, { recursive: true, mode: 0o700 });
    const own = `${name}.json`;
    await move(join(partsFolder, own), render(clusters, 'part'));
    const others = (await readdir(partsFolder)).filter((file) => file !== own).sort();
    const parts = await Promise.all([...others, own].map((file) => readRendered(join(partsFolder, file))));
    const union = new Map(parts.flatMap((part) => part?.resources ?? []).map((cluster) => [cluster.name, cluster]));
    const before = sequenceOf((await readRendered(clustersFile))?.version_info ?? '');
    const version = versionOf(Math.max(before + 1, now()), [...union.keys()]);
    await move(clustersFile, { version_info: version, resources: [...union.values()] });
    return version;
  }

  return {
    /** Writes an empty set unless there is a file: Envoy does not start without one. */
    prepare: async (): Promise<void> => {
      await mkdir(clustersFolder, { recursive: true, mode: 0o700 });
      const text = JSON.stringify(render([], 'none'));
      await writeFile(clustersFile, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      });
    },
    /**
     * Writes these clusters, and the clusters that other services behind the same Envoy need. Resolves to the version of
     * the file.
     */
    replace: (clusters: readonly Cluster[]): Promise<string> =>
      shared === undefined ? writeOwn(clusters) : shared.exclusively(() => writeUnion(clusters, shared)),
  };
}

/** Greater than any earlier version, also those of an earlier process. The same set of clusters gets a new version each time. */
function versionOf(sequence: number, content: readonly unknown[]): string {
  return `${sequence}-${hash('sha256', JSON.stringify(content)).slice(0, 12)}`;
}

function sequenceOf(version: string): number {
  return Number(/^\d+/.exec(version)?.[0] ?? 0);
}

/** Whether Envoy has this version or a later one. A later version has the same clusters of this service. */
export function isReached(version: string, by: string): boolean {
  return sequenceOf(by) >= sequenceOf(version);
}

/**
 * Undefined if there is no such file. From a file of another version of the service, only the names of the clusters
 * must be readable.
 */
const readRendered = (file: string): Promise<Rendered | undefined> => readKeptFile(file, rendered);
