import { type Kysely, type Selectable, sql } from 'kysely';
import {
  bytesOfVectors,
  vectorsOfBytes,
  type VectorReference,
  type VectorReferenceHead,
} from '../../core/vector-reference.ts';
import type { Authorship } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { byIds } from '../databases/by-ids.ts';
import type { Schema, VectorReferenceTable } from '../databases/schema.ts';
import { recordChange } from './audit.ts';

/** References of models that no service has had in its catalog for so long are dropped: a year, for a model that comes back. */
const keptMs = 365 * 86_400_000;

/** Characters of ids of models, and of names of Backends. PostgreSQL refuses a text with NUL, in a comparison as well. */
const modelForm = /^[\w./-]{1,128}$/;
const backendForm = /^[\w.-]{1,253}$/;

const headColumns = ['model_id', 'route_id', 'upstream_model', 'texts', 'dimensions', 'since'] as const;
const isAwaited = sql<number | boolean>`vectors is null`.as('is_awaited');

/** All references, in the order of models, without their vectors. */
export async function listVectorReferences(queries: Kysely<Schema>): Promise<readonly VectorReferenceHead[]> {
  const rows = await queries
    .selectFrom('vector_references')
    .select([...headColumns, isAwaited])
    .orderBy('model_id')
    .execute();
  return rows.map(headOf);
}

/** `since` of each reference that a service knows, by model. Undefined: it knows none. */
export type KnownReferences = ReadonlyMap<string, number | undefined>;

/**
 * Reads the references of models. Those that a service knows already come without their vectors, as a head. Models without a
 * reference are missing.
 */
export async function readVectorReferences(
  queries: Kysely<Schema>,
  known: KnownReferences,
): Promise<readonly (VectorReference | VectorReferenceHead)[]> {
  const rows = await byIds([...known.keys()], (some) =>
    queries
      .selectFrom('vector_references')
      .select([...headColumns, isAwaited])
      .where('model_id', 'in', some)
      .execute(),
  );
  const heads = rows.map(headOf);
  const changed = heads.filter(({ modelId, since }) => known.get(modelId) !== since).map(({ modelId }) => modelId);
  const whole = new Map((await wholeReferences(queries, changed)).map((reference) => [reference.modelId, reference]));
  return heads.map((head) => whole.get(head.modelId) ?? head);
}

/**
 * Keeps the vectors of a route as the reference of its model, unless there is one: the first writer wins. `over`: the `since` of the
 * reference that they replace, because it is awaited or is of other texts. Returns the reference that counts.
 */
export async function keepVectorReference(
  queries: Kysely<Schema>,
  reference: Omit<VectorReference, 'isAwaited'>,
  over: number | undefined,
): Promise<VectorReference> {
  const { modelId, vectors, since } = reference;
  const row = {
    route_id: reference.routeId,
    upstream_model: reference.upstreamModel,
    texts: reference.texts,
    dimensions: BigInt(reference.dimensions),
    vectors: Buffer.from(bytesOfVectors(vectors)),
    since: BigInt(Math.max(since, (over ?? 0) + 1)),
    seen_at: BigInt(since),
  };
  if (over === undefined) {
    await queries
      .insertInto('vector_references')
      .values({ model_id: modelId, ...row })
      .onConflict((conflict) => conflict.column('model_id').doNothing())
      .execute();
  } else {
    await queries
      .updateTable('vector_references')
      .set(row)
      .where('model_id', '=', modelId)
      .where('since', '=', BigInt(over))
      .where((is) => is.or([is('vectors', 'is', null), is('texts', '<>', reference.texts)]))
      .execute();
  }
  // The write waits for another process that writes the row at this moment, so this finds the row that was first.
  const [stored] = await wholeReferences(queries, [modelId]);
  return stored ?? { ...reference, isAwaited: false };
}

/** Notes that these models are in a catalog, and drops the references of models that have been in none for a year. */
export async function retainVectorReferences(
  queries: Kysely<Schema>,
  modelIds: readonly string[],
  now: number,
): Promise<void> {
  await byIds([...modelIds], async (some) => {
    await queries
      .updateTable('vector_references')
      .set({ seen_at: BigInt(now) })
      .where('model_id', 'in', some)
      .execute();
    return [];
  });
  await queries
    .deleteFrom('vector_references')
    .where('seen_at', '<', BigInt(now - keptMs))
    .execute();
}

/**
 * Accepts the vectors that a route of a model makes from now on: the services take them as the reference with their next probe of the
 * route. `route`: its id; undefined: the route whose vectors are the reference now. Throws a `Refusal` if the model has no reference.
 */
export async function acceptVectors(
  queries: Kysely<Schema>,
  { modelId, route }: { readonly modelId: string; readonly route: string | undefined },
  by: Authorship,
): Promise<VectorReferenceHead> {
  if (!modelForm.test(modelId)) throw refusal('vectors_not_found', { model: modelId });
  return queries.transaction().execute(async (transaction) => {
    const row = await transaction
      .selectFrom('vector_references')
      .select([...headColumns, isAwaited])
      .where('model_id', '=', modelId)
      .executeTakeFirst();
    if (row === undefined) throw refusal('vectors_not_found', { model: modelId });
    const before = headOf(row);
    const routeId = route ?? before.routeId;
    if (!routeId.startsWith(`${modelId}@`) || !backendForm.test(routeId.slice(modelId.length + 1)))
      throw refusal('route_malformed', { route: routeId, model: modelId });
    const since = Math.max(by.now, before.since + 1);
    await transaction
      .updateTable('vector_references')
      .set({
        ...{ route_id: routeId, upstream_model: '', texts: '', dimensions: 0n, vectors: null },
        ...{ since: BigInt(since), seen_at: BigInt(by.now) },
      })
      .where('model_id', '=', modelId)
      .execute();
    const shown = (of: VectorReferenceHead) => ({ route: of.routeId, since: new Date(of.since).toISOString() });
    const after: VectorReferenceHead = {
      ...{ modelId, routeId, upstreamModel: '', texts: '', dimensions: 0, since, isAwaited: true },
    };
    const change = { action: 'model.accept-vectors', objectId: modelId, workspaceId: undefined } as const;
    await recordChange(transaction, { ...change, before: shown(before), after: shown(after) }, by);
    return after;
  });
}

async function wholeReferences(
  queries: Kysely<Schema>,
  modelIds: readonly string[],
): Promise<readonly VectorReference[]> {
  const rows = await byIds([...modelIds], (some) =>
    queries
      .selectFrom('vector_references')
      .select([...headColumns, isAwaited, 'vectors'])
      .where('model_id', 'in', some)
      .execute(),
  );
  return rows.map((row) => {
    const head = headOf(row);
    return { ...head, vectors: row.vectors === null ? [] : vectorsOfBytes(row.vectors, head.dimensions) };
  });
}

function headOf(
  row: Pick<Selectable<VectorReferenceTable>, (typeof headColumns)[number]> & { readonly is_awaited: unknown },
): VectorReferenceHead {
  return {
    modelId: row.model_id,
    routeId: row.route_id,
    upstreamModel: row.upstream_model,
    texts: row.texts,
    dimensions: Number(row.dimensions),
    since: Number(row.since),
    isAwaited: Boolean(Number(row.is_awaited)),
  };
}
