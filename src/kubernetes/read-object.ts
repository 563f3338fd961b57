import * as z from 'zod';
import type { KubeObject } from '../core/catalog.ts';

const annotationPrefix = 'weir.dev/';

const rawObject = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    uid: z.string(),
    generation: z.number().default(0),
    resourceVersion: z.string(),
    creationTimestamp: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).default([]),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});

/**
 * Reads a Model or Backend as the API server sends it. Most of the metadata is left behind: `managedFields` alone are
 * often longer than the object. With what was known of it before, what it declares stays the same object unless it
 * changed.
 */
export function readKubeObject(kind: KubeObject['kind'], raw: unknown, before: KubeObject | undefined): KubeObject {
  const { metadata, spec, status } = rawObject.parse(raw);
  const { name, uid, generation, resourceVersion, deletionTimestamp, finalizers } = metadata;
  if (before?.resourceVersion === resourceVersion && before.uid === uid) return before;
  const own = Object.entries(metadata.annotations).filter(([key]) => key.startsWith(annotationPrefix));
  const isSame = before?.uid === uid && before.generation === generation && generation > 0;
  return {
    ...{ kind, name, uid, generation, resourceVersion, finalizers, status },
    ...(deletionTimestamp === undefined ? {} : { deletedAt: deletionTimestamp }),
    annotations: Object.fromEntries(own),
    declared: isSame ? before.declared : declare(kind, name, { created: metadata.creationTimestamp, spec }),
  };
}

function declare(
  kind: KubeObject['kind'],
  name: string,
  { created, spec }: { readonly created: string | undefined; readonly spec: unknown },
): KubeObject['declared'] {
  return {
    where: `${kind}/${name}`,
    value: {
      ...{ apiVersion: 'weir.dev/v1alpha1', kind },
      metadata: { name, ...(created === undefined ? {} : { creationTimestamp: created }) },
      spec,
    },
  };
}
