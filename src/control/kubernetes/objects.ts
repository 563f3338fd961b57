import * as z from 'zod';
import type { KubeObject } from '../../core/catalog.ts';
import { type KubeClient, mergePatch } from './client.ts';
import { type Collection, type CollectionOptions, followCollection } from './collection.ts';

/** Where the API server has the objects of a kind. */
export function placeOf(kind: string, namespace: string) {
  return { group: 'weir.dev', version: 'v1alpha1', namespace, plural: pluralOf(kind) };
}

/** Names of kinds are English nouns. */
export const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`.replace(/(?<![aeiou])ys$/, 'ies');

/** Follows our objects of a kind in a namespace. */
export function followObjects<Kind extends string>(
  { kind, namespace }: { readonly kind: Kind; readonly namespace: string },
  options: Pick<CollectionOptions<NamespacedObject<Kind>>, 'client' | 'clock' | 'random' | 'onChange'>,
): Collection<NamespacedObject<Kind>> {
  const { group, version, plural } = placeOf(kind, namespace);
  return followCollection<NamespacedObject<Kind>>({
    ...options,
    path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    read: (raw, known) => {
      const item = readKubeObject({ kind, namespace }, raw, known);
      return { name: item.name, item };
    },
  });
}

type NamespacedObject<Kind extends string> = KubeObject<Kind> & { readonly namespace: string };

/** The first characters of a name. Neither a label nor a name may end with the sign at which it was cut. */
export function cutName(name: string, maxLength: number): string {
  return name.slice(0, maxLength).replace(/[-.]+$/, '');
}

const annotationPrefix = 'weir.dev/';
/**
 * Most that is kept of an object's metadata, which has no other bound than that of the object. A tenant with a thousand
 * objects of 1.5 MB would fill the memory of the service.
 */
const maxAnnotations = 16;
const maxAnnotationLength = 256;
const maxFinalizers = 32;

const rawObject = z.object({
  metadata: z.object({
    name: z.string(),
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
 * Reads an object of ours as the API server sends it. Most of the metadata is left out: `managedFields` alone are often
 * longer than the object. `declared` is the same object as that of `known`, unless the spec has changed.
 */
export function readKubeObject<Kind extends string>(
  { kind, namespace }: { readonly kind: Kind; readonly namespace: string },
  raw: unknown,
  known: ReadonlyMap<string, NamespacedObject<Kind>>,
): NamespacedObject<Kind> {
  const { metadata, spec, status } = rawObject.parse(raw);
  const { name, uid, generation, resourceVersion, deletionTimestamp } = metadata;
  const before = known.get(name);
  if (before?.resourceVersion === resourceVersion && before.uid === uid) return before;
  const own = Object.entries(metadata.annotations)
    .filter(([key]) => key.startsWith(annotationPrefix))
    .slice(0, maxAnnotations)
    .map(([key, value]) => [key, value.length > maxAnnotationLength ? beginning(value) : value] as const);
  const isSame = before?.uid === uid && before.generation === generation && generation > 0;
  return {
    kind,
    name,
    namespace,
    uid,
    generation,
    resourceVersion,
    finalizers: keptFinalizers(metadata.finalizers),
    status,
    deletedAt: deletionTimestamp,
    annotations: Object.fromEntries(own),
    declared: isSame ? before.declared : declare(kind, name, { created: metadata.creationTimestamp, spec }),
  };
}

/** A copy: a part of a text keeps the whole text in memory. */
function beginning(value: string): string {
  return Buffer.from(value.slice(0, maxAnnotationLength)).toString();
}

/** Of too many, ours are kept before those of strangers. */
function keptFinalizers(finalizers: readonly string[]): readonly string[] {
  if (finalizers.length <= maxFinalizers) return finalizers;
  const isOurs = (one: string): boolean => one.startsWith(annotationPrefix);
  return [...finalizers.filter(isOurs), ...finalizers.filter((one) => !isOurs(one))].slice(0, maxFinalizers);
}

function declare(
  kind: string,
  name: string,
  { created, spec }: { readonly created: string | undefined; readonly spec: unknown },
): KubeObject['declared'] {
  return {
    where: `${kind}/${name}`,
    value: {
      apiVersion: 'weir.dev/v1alpha1',
      kind,
      metadata: { name, ...(created === undefined ? {} : { creationTimestamp: created }) },
      spec,
    },
  };
}

export function createObjectWriter({ objects }: Pick<KubeClient, 'objects'>, namespace: string) {
  const patchOf = ({ kind, name }: KubeObject<string>, body: object) => ({
    ...placeOf(kind, namespace),
    name,
    body,
    fieldManager: 'weir-controller',
  });
  /** The finalizers to write, with those of the object that are not kept. */
  async function withOthers({ kind, name, finalizers: kept }: KubeObject<string>, wanted: readonly string[]) {
    const raw: unknown = await objects.getNamespacedCustomObject({ ...placeOf(kind, namespace), name });
    const { finalizers } = rawObject.parse(raw).metadata;
    return [
      ...finalizers.filter((one) => wanted.includes(one) || !kept.includes(one)),
      ...wanted.filter((one) => !finalizers.includes(one)),
    ];
  }

  return {
    /** Merges into the status of the object of this name. Rejects with ApiError: 404 when the object is gone. */
    status: async (object: KubeObject<string>, status: object): Promise<void> => {
      // The uid is included, so that a new object of the same name does not get the status of the old one.
      const body = { metadata: { uid: object.uid }, status };
      await objects.patchNamespacedCustomObjectStatus(patchOf(object, body), mergePatch);
    },
    /** Rejects with ApiError: 404 when the object is gone, 409 when it has changed. */
    finalizers: async (object: KubeObject<string>, finalizers: readonly string[]): Promise<void> => {
      const whole = object.finalizers.length < maxFinalizers ? finalizers : await withOthers(object, finalizers);
      const body = { metadata: { resourceVersion: object.resourceVersion, finalizers: whole } };
      await objects.patchNamespacedCustomObject(patchOf(object, body), mergePatch);
    },
  };
}
