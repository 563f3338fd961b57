import type { Compilation } from '../catalog/compile.ts';
import type { KubeObject, Snapshot } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { FollowEndpoints, PodsSource } from '../../core/endpoint.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import type { CatalogReading } from './follow-catalog.ts';
import type { Replica, ReplicaParts } from './replica.ts';

/** Where the catalog comes from: a folder or a Kubernetes namespace. */
export interface CatalogSource {
  readonly first: CatalogReading;
  /** The snapshot that was served before the first reading, if that is known. */
  readonly previous: Snapshot | undefined;
  /** Resolves when a catalog is known. Until then, nothing can be served. */
  readonly known: Promise<void>;
  /** Receives the compilation of every reading. */
  readonly compiled: (compilation: Compilation) => void;
  /** How old the served catalog may be, milliseconds; undefined: no catalog is known yet. Absent: a folder is never out of date. */
  readonly ageMs?: () => number | undefined;
  /** Follows the pods of a Service or an InferencePool. Absent: there is no cluster whose pods could be followed. */
  readonly followPods?: FollowEndpoints<PodsSource>;
  /** Joins the replicas that write the status of the cluster's objects, and begins to follow the accounts that objects declare. */
  readonly join: (parts: ReplicaParts) => Replica;
  /** The Models and Backends as they are declared now, including refused ones. */
  readonly objects: (compilation: Compilation) => readonly KubeObject[];
  /** Call after `Replica.close`. */
  readonly close: () => Promise<void>;
}

export interface CatalogSourceOptions {
  readonly log: PartLog;
  readonly clock: Clock;
  readonly random: () => number;
  /** Unique to this process. After a restart it is another one. */
  readonly instance: string;
  /** Called with every reading after the first one. */
  readonly onChange: (reading: CatalogReading) => void;
}
