// @suite both-databases
import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { portalRequests } from '../../test/support/portal-requests.ts';
import { sampleNow } from '../../test/support/sample-database.ts';
import { asBrowser, memberOf, samplePortal, withToken } from '../../test/support/sample-portal.ts';
import { type Scope, scopes } from '../books/core/rights.ts';
import type { accessTable } from './access.ts';
import type { AuditEntryObject } from './api/audit.ts';
import type { ServiceAccountObject } from './api/service-accounts.ts';

type Sample = Awaited<ReturnType<typeof samplePortal>>;
type Route = keyof typeof accessTable;

const day = 24 * 3_600_000;
const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;

async function tokenOf(
  { accounts }: Sample,
  given: readonly Scope[],
  { workspaces, name = 'robot' }: { readonly workspaces?: readonly string[]; readonly name?: string } = {},
): Promise<Record<string, string>> {
  const wanted = { name, scopes: given, workspaces, expiresAt: sampleNow + day };
  const { token } = await accounts.createServiceAccount(wanted, by);
  return { authorization: `Bearer ${token}` };
}

async function ask({ server }: Sample, request: InjectOptions, headers: Record<string, string>) {
  const reply = await server.inject({ ...request, headers, payloadAsStream: false });
  return { status: reply.statusCode, text: reply.body };
}

/** The scope that each route takes; undefined: no service account may use it. */
const scopeOf = {
  'GET /api/v1/workspaces': 'workspaces:read',
  'POST /api/v1/workspaces': 'workspaces:write',
  'GET /api/v1/workspaces/:id': 'workspaces:read',
  'PATCH /api/v1/workspaces/:id': 'workspaces:write',
  'GET /api/v1/workspaces/:id/credits': 'balance:read',
  'POST /api/v1/workspaces/:id/credits': 'balance:write',
  'GET /api/v1/workspaces/:id/alerts': 'balance:read',
  'POST /api/v1/workspaces/:id/thresholds': 'balance:write',
  'GET /api/v1/workspaces/:id/keys': 'keys:read',
  'POST /api/v1/workspaces/:id/keys': 'keys:write',
  'GET /api/v1/workspaces/:id/members': 'members:read',
  'POST /api/v1/workspaces/:id/members': 'members:write',
  'PATCH /api/v1/workspaces/:id/members/:member': 'members:write',
  'DELETE /api/v1/workspaces/:id/members/:member': 'members:write',
  'GET /api/v1/keys/:id': 'keys:read',
  'PATCH /api/v1/keys/:id': 'keys:write',
  'POST /api/v1/keys/:id/rotate': 'keys:write',
  'POST /api/v1/keys/:id/revoke': 'keys:write',
  'GET /api/v1/service-accounts': 'service-accounts:read',
  'GET /api/v1/usage': 'usage:read',
  'GET /api/v1/requests': 'requests:read',
  'GET /api/v1/requests/:id': 'requests:read',
  'GET /api/v1/models': 'models:read',
  'GET /api/v1/models/vectors': 'models:read',
  'POST /api/v1/models/accept-vectors': undefined,
  'GET /api/v1/backends': 'backends:read',
  'GET /api/v1/problems': 'problems:read',
  'GET /api/v1/users': undefined,
  'POST /api/v1/users': undefined,
  'DELETE /api/v1/users/:user': undefined,
  'GET /api/v1/audit': 'audit:read',
  'GET /api/v1/events': undefined,
  'POST /api/v1/playground/chat': undefined,
  'POST /api/v1/playground/embeddings': undefined,
} as const satisfies Partial<Record<Route, Scope | undefined>>;

const routes = Object.entries(scopeOf) as readonly (readonly [keyof typeof scopeOf, Scope | undefined])[];
/** Nothing has this id. */
const notThere = ['GET /api/v1/requests/:id'];
const ofGateway: readonly Route[] = [
  'POST /api/v1/workspaces',
  'GET /api/v1/models/vectors',
  'GET /api/v1/backends',
  'GET /api/v1/problems',
];

describe('a token', () => {
  it('with all other scopes is refused on each route, with the name of the missing one', async () => {
    const sample = await samplePortal();
    for (const [at, [route, scope]] of routes.entries()) {
      const others = scopes.filter((one) => one !== scope);
      const { status, text } = await ask(
        sample,
        portalRequests(sample)[route],
        await tokenOf(sample, others, { name: `robot-${at}` }),
      );
      expect(status, route).toBe(403);
      expect(text, route).toContain(scope === undefined ? 'it takes a person' : `This token lacks the scope ${scope}.`);
    }
  });

  it('with the one scope of a route may use it', async () => {
    const sample = await samplePortal();
    const last = 'POST /api/v1/keys/:id/revoke';
    const ordered = routes.toSorted(([one], [other]) => Number(one === last) - Number(other === last));
    for (const [at, [route, scope]] of ordered.entries()) {
      if (scope === undefined) continue;
      const headers = await tokenOf(sample, [scope], { name: `robot-${at}` });
      const { status, text } = await ask(sample, portalRequests(sample)[route], headers);
      expect(status, `${route}: ${text}`).toBe(
        notThere.includes(route) ? 404 : [200, 201, 204].find((one) => one === status),
      );
    }
  });

  it('for one workspace does not see another, and cannot act on the whole gateway', async () => {
    const sample = await samplePortal();
    const headers = await tokenOf(sample, scopes, { workspaces: ['other'] });
    for (const [route, scope] of routes) {
      if (scope === undefined || route === 'GET /api/v1/models' || route === 'GET /api/v1/workspaces') continue;
      const { status, text } = await ask(sample, portalRequests(sample)[route], headers);
      expect([route, status]).toEqual([route, ofGateway.includes(route) ? 403 : 404]);
      if (status === 403) expect(text).toContain(`This takes the scope ${scope} for all workspaces.`);
    }
    const listed = await ask(sample, { url: '/api/v1/workspaces' }, headers);
    expect((JSON.parse(listed.text) as { data: { name: string }[] }).data.map(({ name }) => name)).toEqual(['other']);
    // Without a workspace in the query, its own is meant.
    expect((await ask(sample, { url: '/api/v1/usage' }, headers)).status).toBe(200);
  });

  it('is named by the audit trail in each change that it makes', async () => {
    const sample = await samplePortal();
    const headers = await tokenOf(sample, ['keys:write'], { workspaces: ['acme'], name: 'terraform' });
    const payload = { name: 'notebooks' };
    const made = await ask(sample, { method: 'POST', url: '/api/v1/workspaces/acme/keys', payload }, headers);
    expect(made.status).toBe(201);
    const audit = async (query: string): Promise<readonly AuditEntryObject[]> => {
      const { text } = await ask(sample, { url: `/api/v1/audit?${query}` }, withToken);
      return (JSON.parse(text) as { data: readonly AuditEntryObject[] }).data;
    };
    const entry = { action: 'key.create', actor: { kind: 'service-account', name: 'terraform' } };
    expect(await audit('workspace=acme&actor=terraform')).toMatchObject([{ ...entry, object_name: 'notebooks' }]);
    // Its change is one of a program. The workspace and the account were made with the admin token or a command.
    expect(await audit('by=automatic')).toMatchObject([entry]);
    const people = await audit('by=people');
    expect(people.length).toBeGreaterThan(1);
    expect(people.map(({ actor: { kind } }) => kind)).not.toContain('service-account');
    expect(people.find(({ action }) => action === 'workspace.create')?.object_name).toBeNull();
  });

  it('ends when it is revoked and when it expires, and its use is noted to the minute', async () => {
    const sample = await samplePortal();
    const { accounts, clock } = sample;
    const headers = await tokenOf(sample, ['usage:read']);
    const status = async (): Promise<number> => (await ask(sample, { url: '/api/v1/usage' }, headers)).status;
    const lastUse = async () => (await accounts.listServiceAccounts())[0]?.lastUsedAt;
    expect(await lastUse()).toBeUndefined();
    expect(await status()).toBe(200);
    clock.advance(59_999);
    expect(await status()).toBe(200);
    expect(await lastUse()).toBe(sampleNow);
    clock.advance(1);
    expect(await status()).toBe(200);
    expect(await lastUse()).toBe(sampleNow + 60_000);
    clock.advance(day);
    const late = await ask(sample, { url: '/api/v1/usage' }, headers);
    expect([late.status, late.text]).toEqual([
      401,
      expect.stringContaining('"robot\\" expired at 2026-07-02T00:00:00'),
    ]);
    const other = await tokenOf(sample, ['usage:read'], { name: 'other' }).catch(String);
    expect(other).toMatchObject({ authorization: expect.stringMatching(/^Bearer weir-sa-/) as string });
  });

  it('that was revoked is refused, also while its name is used again', async () => {
    const sample = await samplePortal();
    const headers = await tokenOf(sample, ['usage:read']);
    await sample.accounts.revokeServiceAccount('robot', by);
    const next = await tokenOf(sample, ['usage:read']);
    const refused = await ask(sample, { url: '/api/v1/usage' }, headers);
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('was revoked')]);
    expect((await ask(sample, { url: '/api/v1/usage' }, next)).status).toBe(200);
  });

  it('is neither a session nor the admin token', async () => {
    const sample = await samplePortal();
    const { authorization = '' } = await tokenOf(sample, scopes);
    const token = authorization.replace('Bearer ', '');
    for (const payload of [{ token }, { key: token }])
      expect((await ask(sample, { method: 'POST', url: '/api/v1/session', payload }, {})).status).toBe(401);
  });

  it('reads the metrics with the scope metrics:read for all workspaces, and no longer once it was revoked', async () => {
    const sample = await samplePortal();
    const read = async (headers: Record<string, string>) => ask(sample, { url: '/metrics' }, headers);
    const others = scopes.filter((scope) => scope !== 'metrics:read');
    expect(await read(await tokenOf(sample, others, { name: 'others' }))).toMatchObject({
      ...{ status: 403, text: expect.stringContaining('This token lacks the scope metrics:read.') as string },
    });
    const ofOne = await tokenOf(sample, ['metrics:read'], { name: 'of-one', workspaces: ['acme'] });
    expect(await read(ofOne)).toMatchObject({
      ...{ status: 403, text: expect.stringContaining('the scope metrics:read for all workspaces') as string },
    });
    const headers = await tokenOf(sample, ['metrics:read'], { name: 'prometheus' });
    expect(await read(headers)).toMatchObject({
      ...{ status: 200, text: expect.stringContaining('weir_portal_connections') as string },
    });
    expect((await ask(sample, { url: '/api/v1/workspaces' }, headers)).status).toBe(403);
    await sample.accounts.revokeServiceAccount('prometheus', by);
    expect((await read(headers)).status).toBe(401);
  });
});

it('people see the accounts that reach their workspace, and only their own workspaces in them', async () => {
  const sample = await samplePortal();
  const { workspace, otherWorkspace } = sample;
  await tokenOf(sample, ['usage:read'], { name: 'everywhere' });
  await tokenOf(sample, ['usage:read'], { name: 'both', workspaces: ['acme', 'other'] });
  await tokenOf(sample, ['usage:read'], { name: 'elsewhere', workspaces: ['other'] });
  const listAs = async (headers: Record<string, string>) => {
    const { text } = await ask(sample, { url: '/api/v1/service-accounts' }, headers);
    const { data } = JSON.parse(text) as { readonly data: readonly ServiceAccountObject[] };
    return Object.fromEntries(data.map(({ name, workspaces }) => [name, workspaces]));
  };
  expect(await listAs(asBrowser(await memberOf(sample, workspace.id, { role: 'viewer' })))).toEqual({
    everywhere: null,
    both: [workspace.id],
  });
  expect(await listAs(withToken)).toEqual({
    everywhere: null,
    both: [workspace.id, otherWorkspace.id],
    elsewhere: [otherWorkspace.id],
  });
});
