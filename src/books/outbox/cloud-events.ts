import { createHash } from 'node:crypto';
import { type EventKind, eventTypes } from '../../core/event-type.ts';
import type { Kysely } from 'kysely';
import { readSharedSecret } from '../accounts/shared-secret.ts';
import type { Schema } from '../databases/schema.ts';
import { type EventFacts, eventSources } from './event-sources.ts';

/** Some rows of which events of one kind are made. */
export interface Refs {
  readonly kind: EventKind;
  readonly refs: readonly string[];
}

/**
 * The events of rows as CloudEvents 1.0 in JSON (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md),
 * by kind and ref, in one query for each kind.
 */
export async function cloudEventsOf(
  queries: Kysely<Schema>,
  wanted: readonly Refs[],
): Promise<(kind: EventKind, ref: string) => string | undefined> {
  const kinds = Map.groupBy(wanted, ({ kind }) => kind);
  const found: { readonly kind: EventKind; readonly facts: EventFacts }[] = [];
  for (const [kind, some] of kinds) {
    const refs = some.flatMap((one) => one.refs);
    if (refs.length === 0) continue;
    for (const facts of await eventSources[kind].read(queries, refs)) found.push({ kind, facts });
  }
  const names = await namesOf(
    queries,
    found.flatMap(({ facts }) => facts.workspaceId ?? []),
  );
  const source = sourceOf(await readSharedSecret(queries));
  const texts = new Map(
    found.map(({ kind, facts }) => [`${kind} ${facts.ref}`, textOf(kind, facts, { source, names })]),
  );
  return (kind, ref) => texts.get(`${kind} ${ref}`);
}

function textOf(
  kind: EventKind,
  { id, at, workspaceId, data }: EventFacts,
  { source, names }: { readonly source: string; readonly names: ReadonlyMap<string, string> },
): string {
  const workspace = workspaceId && (names.get(workspaceId) ?? workspaceId);
  return JSON.stringify({
    ...{ specversion: '1.0', id, source, type: eventTypes[kind], subject: workspace },
    ...{ time: new Date(at).toISOString(), datacontenttype: 'application/json', data: data(workspace ?? '') },
  });
}

/** Names the installation: the same on all its services for as long as its database lives, and nothing of the secret. */
function sourceOf(secret: string): string {
  const digits = createHash('sha256').update(`source of events ${secret}`).digest('hex');
  return `urn:uuid:${[0, 8, 12, 16, 20].map((from, index, all) => digits.slice(from, all[index + 1] ?? 32)).join('-')}`;
}

/** The id of a message: the same body has the same one, so that a receiver can know it again. */
export const messageId = (body: string): string =>
  `msg_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`;

/** The names of workspaces. */
async function namesOf(queries: Kysely<Schema>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await queries
    .selectFrom('workspaces')
    .select(['id', 'name'])
    .where('id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}
