// @suite both-databases
import { describe, expect, it } from 'vitest';
import { samplePortal, withToken } from '../../test/support/sample-portal.ts';
import type { IdentityObject, NewIdentityObject } from './api/identities.ts';

type Sample = Awaited<ReturnType<typeof samplePortal>>;

const good: NewIdentityObject = {
  ...{ name: 'search', issuer: 'cluster', audience: 'weir', match: ['claims.sub != ""'], workspace: 'acme' },
  ...{
    each: 'subject',
    tags: { app: 'claims.sub' },
    budget: { limit: '5', period: 'day' },
    rate: 7,
    models: ['qwen/*'],
  },
};

const by = { actor: { kind: 'controller', name: 'x' }, now: 0 } as const;

async function ask({ server }: Sample, [method, path, payload]: readonly ['GET' | 'POST' | 'PATCH', string, object?]) {
  const request = { method, url: `/api/v1/identities${path}`, headers: withToken, ...(payload && { payload }) };
  const reply = await server.inject(request);
  return { status: reply.statusCode, body: reply.json<Readonly<Record<string, unknown>>>() };
}

describe('identities in the admin API', () => {
  it('are made, listed, changed and revoked', async () => {
    const sample = await samplePortal();
    const { status, body } = await ask(sample, ['POST', '', good]);
    const shown = {
      ...{ ...good, id: expect.stringMatching(/^identity_/), status: 'active', workspace_claim: null, bound: false },
      ...{ burst: 200, tokens_per_minute: null, not_enforced: null, declared_by: null },
    };
    expect([status, body]).toEqual([201, shown]);
    expect((await ask(sample, ['GET', ''])).body).toEqual({ data: [shown], next_cursor: null });
    const change = { workspace_claim: 'claims.team', budget: null, models: null, bound: true, status: 'suspended' };
    expect(await ask(sample, ['PATCH', '/search', change])).toEqual({
      status: 200,
      body: { ...shown, ...change, workspace: null },
    });
    const { id } = body as unknown as IdentityObject;
    expect((await ask(sample, ['PATCH', `/${id}`, { status: 'revoked' }])).body).toMatchObject({ status: 'revoked' });
    expect((await ask(sample, ['GET', ''])).body).toMatchObject({ data: [] });
    const { accounts } = sample;
    expect((await accounts.listAudit({ objectId: id }, 9)).map(({ action, actor }) => [action, actor.kind])).toEqual([
      ['identity.revoke', 'admin-token'],
      ['identity.suspend', 'admin-token'],
      ['identity.create', 'admin-token'],
    ]);
  });

  it('have accounts by name, with what each spent and the identity in place of a text', async () => {
    const sample = await samplePortal();
    const { accounts } = sample;
    const { body } = await ask(sample, ['POST', '', good]);
    const identityId = String(body['id']);
    expect((await ask(sample, ['GET', '/search/accounts'])).body).toEqual({ data: [], next_cursor: null });
    await accounts.createKey({ workspace: 'acme', rate: 1, burst: 1 }, by);
    for (const subject of ['b', 'a']) {
      await accounts.openIdentityAccount({ identityId, workspace: 'acme', subject }, by);
    }
    const { data } = (await ask(sample, ['GET', `/${identityId}/accounts`])).body;
    expect(data).toMatchObject(
      ['a', 'b'].map((subject) => ({
        ...{ name: `search: ${subject}`, identity: { id: identityId, name: 'search', subject } },
        ...{ prefix: null, spent: '0', budget: { limit: '5', period: 'day' }, last_used_at: null, workspace: 'acme' },
      })),
    );
    expect((await ask(sample, ['GET', '/nothing/accounts'])).status).toBe(404);
  });

  it.each<readonly [object, status: number, field: string | undefined, message: RegExp]>([
    [{ workspace: undefined }, 400, undefined, /expected workspace or workspace_claim, and not both/],
    [{ workspace_claim: 'claims.a' }, 400, undefined, /expected workspace or workspace_claim, and not both/],
    [{ workspace: 'nowhere' }, 404, undefined, /no workspace named "nowhere"/],
    [{ match: ['claims.'] }, 400, 'match', /^match: "claims\."/],
    [{ issuer: 'http://a' }, 400, 'issuer', /^issuer: expected "cluster"/],
    [{ each: 'pod' }, 400, 'each', /each/],
    [{ color: 'red' }, 400, undefined, /color/],
  ])('are refused with the field: %j', async (change, status, field, message) => {
    const sample = await samplePortal();
    const refused = await ask(sample, ['POST', '', { ...good, ...change }]);
    expect(refused.status).toBe(status);
    expect(refused.body['error']).toMatchObject({ message: expect.stringMatching(message), ...(field && { field }) });
    expect((await ask(sample, ['GET', ''])).body).toMatchObject({ data: [] });
  });

  it('name the object that declares them, and are not changed against it', async () => {
    const sample = await samplePortal();
    const { accounts } = sample;
    const object = { namespace: 'team', name: 'search', isManaging: true };
    const wanted = {
      ...({ name: 'team_search', status: 'active', issuer: 'cluster', audience: 'weir', match: ['true'] } as const),
      ...({ workspace: { claim: 'claims.a', prefix: 'team_' }, each: 'identity', tags: {}, isBound: false } as const),
      ...{ rate: 1, burst: 1 },
    };
    await accounts.declareIdentity(object, wanted, by);
    const declared_by = { kind: 'Identity', namespace: 'team', name: 'search', locked: true };
    expect((await ask(sample, ['GET', ''])).body).toMatchObject({
      data: [{ declared_by, workspace_claim: 'claims.a' }],
    });
    const refused = await ask(sample, ['PATCH', '/team_search', { rate: 2 }]);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'declared_by_object' } } });
  });
});
