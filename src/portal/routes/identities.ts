import { z } from 'zod';
import { type Identity, identityLimits, type IdentityRules, maxSubjects } from '../../core/identity.ts';
import { payerOf } from '../../books/core/identity.ts';
import { shownDeclaration, shownIdentity } from '../../books/core/shown.ts';
import { valuesOfBody } from '../api/account-shapes.ts';
import * as api from '../api/identities.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { shownKeys } from './keys.ts';

const described = describing('identities');

const params = z.object({ id: z.string().meta({ description: 'Id or name of the identity.' }) });

/** Who may call without a key, and what that may cost. */
export function identityRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;

  app.get('/api/v1/identities', described('Identities by name', { 200: api.identityPage }, {}), async () => ({
    data: await shown(await store.listIdentities()),
    next_cursor: null,
  }));

  app.post(
    '/api/v1/identities',
    described('Create an identity', { 201: api.identity }, { body: api.newIdentity }),
    async (request, reply) => {
      const { name, issuer, audience, match, each, tags, bound: isBound } = request.body;
      const workspace = payerOf(request.body.workspace, request.body.workspace_claim) ?? { name: '' };
      const rules: IdentityRules = { issuer, audience, match, workspace, each, tags, isBound };
      const wanted = { name, ...rules, ...valuesOfBody(identityLimits, request.body) };
      const made = await store.createIdentity(wanted, authorship(callerOf(request), clock.now()));
      return reply.code(201).send(await shownOne(made));
    },
  );

  app.get(
    '/api/v1/identities/:id/accounts',
    described('The spend of an identity’s subjects', { 200: api.identityAccounts }, { params }),
    async (request) => {
      const { id } = await store.findIdentity(request.params.id);
      const accounts = await store.accountsOfIdentity(id, maxSubjects);
      return { data: await shownKeys(portal, accounts, callerOf(request)), next_cursor: null };
    },
  );

  app.patch(
    '/api/v1/identities/:id',
    described(
      'Change, suspend, resume or revoke an identity with all of its accounts',
      { 200: api.identity },
      { params, body: api.identityChange },
    ),
    async (request) => {
      const { issuer, audience, match, each, tags, bound: isBound } = request.body;
      const workspace = payerOf(request.body.workspace, request.body.workspace_claim);
      const rules = { issuer, audience, match, workspace, each, tags, isBound };
      const wanted = { ...rules, ...valuesOfBody(identityLimits, request.body) };
      const by = authorship(callerOf(request), clock.now());
      return shownOne(await store.changeIdentity(request.params.id, wanted, by));
    },
  );

  async function shown(found: readonly Identity[]): Promise<api.IdentityObject[]> {
    const declared = await store.declarationsOf(found.map(({ id }) => id));
    return found.map((one) => ({ ...shownIdentity(one), declared_by: shownDeclaration(declared.get(one.id)) }));
  }

  async function shownOne(one: Identity): Promise<api.IdentityObject> {
    const [object] = await shown([one]);
    if (object === undefined) throw new Error('one identity gives one object');
    return object;
  }
}
