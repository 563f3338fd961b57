import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { CatalogObject } from '../../core/catalog.ts';
import { accountKinds, type AccountObject } from '../../books/core/declared-account.ts';
import { isObject } from '../../core/json.ts';
import { annotationsOf, kindOf, nameOf, specOf } from '../core/raw-object.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';

/** The namespace of all objects of a manifest folder. */
export const folderNamespace = 'manifests';

/**
 * The objects of a manifest folder that declare accounts, with what an API server would keep of them: when they were
 * deleted, their finalizers and their status. A file keeps it over a restart.
 */
export type AccountObjects = Awaited<ReturnType<typeof openAccountObjects>>;

/** The object that is written to does not exist any more. */
export class ObjectGone extends Error {}

const keptObject = z.object({
  kind: z.enum(accountKinds),
  name: z.string(),
  uid: z.string(),
  generation: z.number(),
  finalizers: z.array(z.string()),
  annotations: z.record(z.string(), z.string()),
  deletedAt: z.string().optional(),
  status: z.unknown(),
  value: z.unknown(),
});
const fileBody = z.object({ version: z.literal(1), objects: z.array(keptObject) });

async function write(file: string, objects: readonly AccountObject[]): Promise<void> {
  const kept = objects.map(
    ({ kind, name, uid, generation, finalizers, annotations, deletedAt, status, declared: { value } }) => ({
      ...{ kind, name, uid, generation, finalizers, annotations, deletedAt, status, value },
    }),
  );
  await replaceFile(file, JSON.stringify({ version: 1, objects: kept }), 0o600);
}

/** Opens the objects that the file has. `onError`: a reading could not be written to the file. */
export async function openAccountObjects(file: string, onError: (error: unknown) => void) {
  const objects = new Map<string, AccountObject>();
  let changes = 0;
  let writing = Promise.resolve();
  let next: Promise<void> | undefined;

  // Without the file, all objects of the folder are new, and those that have left it meanwhile are not known.
  const { objects: known = [] } = (await readKeptFile(file, fileBody)) ?? {};
  for (const { value, ...kept } of known) put({ ...kept, declared: { where: '', value } });

  const sorted = (): readonly AccountObject[] =>
    accountKinds.flatMap((kind) => [...objects.values()].filter((object) => object.kind === kind));

  function put(object: Omit<AccountObject, 'namespace' | 'resourceVersion'>): void {
    changes += 1;
    objects.set(idOf(object), { ...object, namespace: folderNamespace, resourceVersion: String(changes) });
  }

  /** Resolves when the objects of this moment are in the file. Changes that come while it is written share the next write. */
  function save(): Promise<void> {
    next ??= writing.then(() => {
      next = undefined;
      const written = write(file, sorted());
      writing = written.catch(() => undefined);
      return written;
    });
    return next;
  }

  function existing(object: AccountObject): AccountObject {
    const found = objects.get(idOf(object));
    if (found?.uid !== object.uid) throw new ObjectGone(`${idOf(object)} is gone`);
    return found;
  }

  return {
    /** In the order of their kinds. */
    objects: sorted,
    find: (kind: AccountObject['kind'], { name }: { readonly name: string }): AccountObject | undefined =>
      objects.get(idOf({ kind, name })),
    /** Takes the objects of the folder. `isWhole`: an object that is not among them is deleted. */
    take: (
      declared: readonly CatalogObject[],
      { now, isWhole }: { readonly now: number; readonly isWhole: boolean },
    ): void => {
      const present = new Set<string>();
      for (const object of declared) {
        const found = accountIn(object);
        if (found === undefined || present.has(idOf(found))) continue;
        present.add(idOf(found));
        const known = objects.get(idOf(found));
        if (known === undefined) put({ ...found, uid: randomUUID(), generation: 1, finalizers: [], status: undefined });
        else if (known.declared !== object || known.deletedAt !== undefined) {
          const isSame = known.deletedAt === undefined && isDeepStrictEqual(specOf(known.declared), specOf(object));
          put({ ...known, ...found, deletedAt: undefined, generation: known.generation + (isSame ? 0 : 1) });
        }
      }
      if (isWhole) {
        for (const [id, known] of objects) {
          if (present.has(id) || known.deletedAt !== undefined) continue;
          if (known.finalizers.length === 0) objects.delete(id);
          else put({ ...known, deletedAt: new Date(now).toISOString() });
        }
      }
      save().catch(onError);
    },
    /** Adds to the status of an object; null removes a field. Resolves when it is in the file. Rejects with `ObjectGone`. */
    status: async (object: AccountObject, status: object): Promise<void> => {
      const found = existing(object);
      const before = isObject(found.status) ? found.status : {};
      const fields = Object.entries({ ...before, ...status }).filter(([, value]) => value !== null);
      put({ ...found, status: Object.fromEntries(fields) });
      await save();
    },
    /** An object that is deleted goes with its last finalizer. Resolves and rejects as `status` does. */
    finalizers: async (object: AccountObject, finalizers: readonly string[]): Promise<void> => {
      const found = existing(object);
      if (found.deletedAt !== undefined && finalizers.length === 0) objects.delete(idOf(found));
      else put({ ...found, finalizers });
      await save();
    },
    /** Resolves when all changes are in the file. */
    close: async (): Promise<void> => {
      await next?.catch(() => undefined);
      await writing;
    },
  };
}

const idOf = ({ kind, name }: Pick<AccountObject, 'kind' | 'name'>): string => `${kind} ${name}`;

function accountIn(
  object: CatalogObject,
): Pick<AccountObject, 'kind' | 'name' | 'annotations' | 'declared'> | undefined {
  const { value } = object;
  if (!isObject(value) || value['apiVersion'] !== 'weir.dev/v1alpha1') return undefined;
  const kind = accountKinds.find((one) => one === kindOf(object));
  const name = nameOf(object);
  if (kind === undefined || name === undefined) return undefined;
  const ours = Object.entries(annotationsOf(object)).filter(([key]) => key.startsWith('weir.dev/'));
  return {
    ...{ kind, name, declared: object },
    annotations: Object.fromEntries(ours.map(([key, text]) => [key, String(text)])),
  };
}
