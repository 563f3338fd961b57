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

/** Something about an object that a person should notice, as Kubernetes' Events tell it. */
export interface ObjectEvent {
  readonly severity: 'Normal' | 'Warning';
  /** One word for programs. */
  readonly reason: string;
  /** What the controller did when it noticed. */
  readonly action: string;
  readonly note: string;
}
