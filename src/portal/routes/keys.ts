import { z } from 'zod';
import type { KeyRecord } from '../../books/core/administration.ts';
import { keyFields } from '../../core/account.ts';
import { periodEnd } from '../../books/core/budget-period.ts';
import { defaultThresholds } from '../../core/alert.ts';
import { shownDeclaration, shownKey } from '../../books/core/shown.ts';
import { valuesOfBody } from '../api/account-shapes.ts';
import * as api from '../api/keys.ts';
import { callerOf } from '../authenticate.ts';
import { authorship, type Caller, subjectOf } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { changeableKey, mayChange, visibleKey, visibleWorkspace } from '../visible.ts';

const described = describing('keys');

const hourMs = 3_600_000;
const ofWorkspace = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });
const params = z.object({ id: z.string().meta({ description: 'Id of the key.' }) });

/** The credentials of workspaces. */
export function keyRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;

  app.get(
    '/api/v1/workspaces/:id/keys',
    described(
      'Keys of a workspace, newest first',
      { 200: api.keyPage },
      { params: ofWorkspace, querystring: api.keysQuery },
    ),
    async (request) => {
      const caller = callerOf(request);
      const workspace = await visibleWorkspace(store, caller, request.params.id);
      const { id } = workspace;
      const { limit, cursor, search, spent } = request.query;
      if (spent !== undefined) {
        const found = await store.spentKeys(workspace, limit, clock.now());
        return { data: await shownKeys(portal, found, caller), next_cursor: null };
      }
      const { items, next } = await store.pageOfKeys(id, { limit, cursor, search: search?.trim() || undefined });
      return { data: await shownKeys(portal, items, caller), next_cursor: next ?? null };
    },
  );

  app.post(
    '/api/v1/workspaces/:id/keys',
    described(
      'Create a key: only this answer contains its text',
      { 201: api.createdKey },
      { params: ofWorkspace, body: api.newKey },
    ),
    async (request, reply) => {
      const caller = callerOf(request);
      const { id: workspace } = await visibleWorkspace(store, caller, request.params.id);
      const wanted = { workspace, ...valuesOfBody(keyFields, request.body), maker: subjectOf(caller) };
      const { key, text } = await store.createKey(wanted, authorship(caller, clock.now()));
      return reply.code(201).send({ ...(await shownOne(portal, key, caller)), key: text });
    },
  );

  app.get('/api/v1/keys/:id', described('One key', { 200: api.key }, { params }), async (request) => {
    const caller = callerOf(request);
    return shownOne(portal, await visibleKey(store, caller, request.params.id), caller);
  });

  app.patch(
    '/api/v1/keys/:id',
    described('Change a key', { 200: api.key }, { params, body: api.keyChange }),
    async (request) => {
      const caller = callerOf(request);
      const { id } = await changeableKey(store, caller, request.params.id);
      const wanted = valuesOfBody(keyFields, request.body);
      return shownOne(portal, await store.changeKey(id, wanted, authorship(caller, clock.now())), caller);
    },
  );

  app.post(
    '/api/v1/keys/:id/rotate',
    described(
      'Create a replacement for this key, which expires after an overlap: only this answer contains its text',
      { 201: api.rotatedKey },
      { params, body: api.keyRotation },
    ),
    async (request, reply) => {
      const caller = callerOf(request);
      const { id } = await changeableKey(store, caller, request.params.id);
      const overlapMs = request.body.overlap_hours * hourMs;
      const { key, text, earlier } = await store.rotateKey(id, { overlapMs }, authorship(caller, clock.now()));
      const made = await shownOne(portal, key, caller);
      return reply.code(201).send({ ...made, key: text, earlier: await shownOne(portal, earlier, caller) });
    },
  );

  app.post(
    '/api/v1/keys/:id/revoke',
    described('Revoke a key permanently', { 200: api.key }, { params }),
    async (request) => {
      const caller = callerOf(request);
      const { id } = await changeableKey(store, caller, request.params.id);
      const revoked = await store.changeKey(id, { status: 'revoked' }, authorship(caller, clock.now()));
      return shownOne(portal, revoked, caller);
    },
  );
}

/** Keys as the caller sees them. */
export async function shownKeys(
  { store, clock }: Portal,
  keys: readonly KeyRecord[],
  caller: Caller,
): Promise<api.KeyObject[]> {
  const ids = keys.map(({ id }) => id);
  const [spent, declared, makers, own] = await Promise.all([
    store.spentBy(ids, clock.now()),
    store.declarationsOf(ids),
    store.keyMakers(ids),
    store.ownThresholds(ids),
  ]);
  return keys.map((key) => ({
    ...shownKey(key, spent),
    budget_ends_at: budgetEnd(key, clock.now()),
    thresholds: [...(own.get(key.id) ?? defaultThresholds)],
    made_by: makers.get(key.id) ?? null,
    declared_by: shownDeclaration(declared.get(key.id)),
    may_change: mayChange(caller, key),
  }));
}

const budgetEnd = ({ budget }: KeyRecord, now: number): string | null =>
  budget === undefined || budget.period === 'total' ? null : new Date(periodEnd(budget.period, now)).toISOString();

async function shownOne(portal: Portal, key: KeyRecord, caller: Caller): Promise<api.KeyObject> {
  const [one] = await shownKeys(portal, [key], caller);
  if (one === undefined) throw new Error('one key gives one object');
  return one;
}
