import type { CatalogObject } from './catalog.ts';

/** A Model or Backend in a Kubernetes cluster: what it declares, and what the API server knows of it beyond that. */
export interface KubeObject {
  readonly kind: 'Model' | 'Backend';
  readonly name: string;
  /** Another one for every object, whatever its name. */
  readonly uid: string;
  /** Rises with every change of what it declares. */
  readonly generation: number;
  /** Changes with every change. */
  readonly resourceVersion: string;
  /** When its deletion was asked for; it is there until its last finalizer is gone. */
  readonly deletedAt?: string;
  readonly finalizers: readonly string[];
  /** Those of `weir.dev`. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly status: unknown;
  /** What it declares. The same one as long as nothing of that changes, whatever becomes of its status. */
  readonly declared: CatalogObject;
}
