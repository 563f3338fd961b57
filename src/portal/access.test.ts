import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { sampleNow } from '../../test/support/sample-database.ts';
import {
  adminToken,
  asBrowser,
  type Browser,
  memberOf,
  samplePortal,
  signIn,
  withToken,
} from '../../test/support/sample-portal.ts';
import { portalRequests } from '../../test/support/portal-requests.ts';
import { accessTable } from './access.ts';
import { digestOf, newToken } from './secrets.ts';

type Sample = Awaited<ReturnType<typeof samplePortal>>;
type Who = 'none' | 'key' | 'owner elsewhere' | 'viewer' | 'member' | 'owner' | 'admin';

type Statuses = readonly [number, number, number, number, number, number, number];

/**
 * Statuses for nobody, a key, an owner of another workspace, a viewer, a member, an owner and an admin. 404: it is not
 * there for them. The key was made by someone else.
 */
const expected: Readonly<Record<keyof typeof accessTable, Statuses>> = {
  'GET /api/openapi.json': [200, 200, 200, 200, 200, 200, 200],
  'GET /api/v1/sign-in': [200, 200, 200, 200, 200, 200, 200],
  'POST /api/v1/session': [201, 201, 201, 201, 201, 201, 201],
  // No provider is set up.
  // There is no such invitation.
  'POST /api/v1/invitation': [404, 404, 404, 404, 404, 404, 404],
  'GET /api/v1/oidc/sign-in': [404, 404, 404, 404, 404, 404, 404],
  'GET /api/v1/oidc/callback': [404, 404, 404, 404, 404, 404, 404],
  'GET /api/v1/session': [401, 200, 200, 200, 200, 200, 200],
  'DELETE /api/v1/session': [401, 204, 204, 204, 204, 204, 204],
  'GET /api/v1/workspaces': [401, 403, 200, 200, 200, 200, 200],
  'POST /api/v1/workspaces': [401, 403, 403, 403, 403, 403, 201],
  'GET /api/v1/workspaces/:id': [401, 403, 404, 200, 200, 200, 200],
  'PATCH /api/v1/workspaces/:id': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/workspaces/:id/credits': [401, 403, 404, 200, 200, 200, 200],
  'POST /api/v1/workspaces/:id/credits': [401, 403, 403, 403, 403, 403, 201],
  'GET /api/v1/workspaces/:id/statements/:month': [401, 403, 404, 200, 200, 200, 200],
  'GET /api/v1/workspaces/:id/alerts': [401, 403, 404, 200, 200, 200, 200],
  'POST /api/v1/workspaces/:id/thresholds': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/workspaces/:id/tag-budgets': [401, 403, 404, 200, 200, 200, 200],
  'POST /api/v1/workspaces/:id/tag-budgets': [401, 403, 404, 403, 403, 200, 200],
  'GET /api/v1/workspaces/:id/keys': [401, 403, 404, 200, 200, 200, 200],
  'POST /api/v1/workspaces/:id/keys': [401, 403, 404, 403, 201, 201, 201],
  'GET /api/v1/workspaces/:id/members': [401, 403, 404, 200, 200, 200, 200],
  'POST /api/v1/workspaces/:id/members': [401, 403, 404, 403, 403, 201, 201],
  'PATCH /api/v1/workspaces/:id/members/:member': [401, 403, 404, 403, 403, 200, 200],
  'DELETE /api/v1/workspaces/:id/members/:member': [401, 403, 404, 403, 403, 204, 204],
  'GET /api/v1/keys/:id': [401, 200, 404, 200, 200, 200, 200],
  'PATCH /api/v1/keys/:id': [401, 403, 404, 403, 403, 200, 200],
  'POST /api/v1/keys/:id/rotate': [401, 403, 404, 403, 403, 201, 201],
  'POST /api/v1/keys/:id/revoke': [401, 403, 404, 403, 403, 200, 200],
  'GET /api/v1/service-accounts': [401, 403, 404, 200, 200, 200, 200],
  'GET /api/v1/users': [401, 403, 403, 403, 403, 403, 200],
  'POST /api/v1/users': [401, 403, 403, 403, 403, 403, 201],
  'DELETE /api/v1/users/:user': [401, 403, 403, 403, 403, 403, 404],
  'GET /api/v1/identities': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/identities/:id/accounts': [401, 403, 403, 403, 403, 403, 404],
  'POST /api/v1/identities': [401, 403, 403, 403, 403, 403, 201],
  'PATCH /api/v1/identities/:id': [401, 403, 403, 403, 403, 403, 404],
  'GET /api/v1/usage': [401, 403, 404, 200, 200, 200, 200],
  'GET /api/v1/tags': [401, 403, 404, 200, 200, 200, 200],
  'GET /api/v1/requests': [401, 200, 404, 200, 200, 200, 200],
  'GET /api/v1/requests/:id': [401, 404, 404, 404, 404, 404, 404],
  'GET /api/v1/models/history': [401, 404, 404, 404, 404, 404, 404],
  'GET /api/v1/models/vectors': [401, 403, 403, 403, 403, 403, 200],
  // The model of the sample has no reference.
  'POST /api/v1/models/accept-vectors': [401, 403, 403, 403, 403, 403, 404],
  'GET /api/v1/models': [401, 200, 200, 200, 200, 200, 200],
  'GET /api/v1/backends': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/problems': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/top': [401, 403, 403, 403, 403, 403, 200],
  'POST /api/v1/keys/:id/override': [401, 403, 403, 403, 403, 403, 200],
  'GET /api/v1/audit': [401, 403, 404, 200, 200, 200, 200],
  'GET /api/v1/events': [401, 403, 200, 200, 200, 200, 200],
  // The gateway of the tests is not there: 502 is as far as it goes.
  'POST /api/v1/playground/chat': [401, 403, 404, 403, 502, 502, 502],
  'POST /api/v1/playground/embeddings': [401, 403, 404, 403, 502, 502, 502],
};

const people: readonly Who[] = ['none', 'key', 'owner elsewhere', 'viewer', 'member', 'owner', 'admin'];

async function browserOf(sample: Sample, who: Who): Promise<Browser | undefined> {
  switch (who) {
    case 'none':
      return undefined;
    case 'key':
      return signIn(sample.server, { key: sample.text });
    case 'owner elsewhere':
      return memberOf(sample, sample.otherWorkspace.id);
    case 'viewer':
    case 'member':
    case 'owner':
      return memberOf(sample, sample.workspace.id, { role: who });
    case 'admin':
      return signIn(sample.server, { token: adminToken });
  }
}

async function statusOf({ server }: Sample, request: InjectOptions, headers: Record<string, string>): Promise<number> {
  const reply = await server.inject({ ...request, headers });
  if (request.payloadAsStream === true) reply.stream().destroy();
  return reply.statusCode;
}

describe('the table of access', () => {
  it.each(people.map((who, column) => [who, column] as const))(
    'gives %s what it says, route by route',
    async (who, column) => {
      const sample = await samplePortal();
      const browser = await browserOf(sample, who);
      const requests = Object.entries(portalRequests(sample));
      // What ends a session or a key comes last.
      const ordered = requests.toSorted(([one], [other]) => rankOf(one) - rankOf(other));
      const seen: Record<string, number> = {};
      for (const [route, request] of ordered) {
        seen[route] = await statusOf(sample, request, browser === undefined ? {} : asBrowser(browser));
      }
      expect(seen).toEqual(Object.fromEntries(Object.entries(expected).map(([route, all]) => [route, all[column]])));
    },
  );

  it('lets a session do nothing more once it was ended, wherever that was', async () => {
    const sample = await samplePortal();
    const { server, accounts } = sample;
    const browser = await signIn(server, { token: adminToken });
    await accounts.endSession(digestOf(browser.cookie.split('=')[1] ?? ''));
    for (const [route, request] of Object.entries(portalRequests(sample))) {
      if (accessTable[route as keyof typeof accessTable] === 'everyone') continue;
      expect(await statusOf(sample, request, asBrowser(browser)), route).toBe(401);
    }
  });

  it('accepts an admin of a provider with any name, also with that of the admin token', async () => {
    const { server, accounts } = await samplePortal();
    const [secret, csrfToken] = [newToken(), newToken()];
    const session = {
      ...{
        hash: digestOf(secret),
        role: 'admin' as const,
        name: 'admin token',
        groupRoles: new Map(),
        address: undefined,
        keyId: undefined,
        csrfToken,
      },
      ...{ credential: 'subject', createdAt: sampleNow, expiresAt: sampleNow + 3_600_000 },
    } as const;
    const headers = { cookie: `weir_session=${secret}` };
    const status = async (): Promise<number> => (await server.inject({ url: '/api/v1/session', headers })).statusCode;
    await accounts.createSession({ ...session, logOutHint: 'ID token' });
    expect(await status()).toBe(200);
    // The same row without a provider is a sign-in with an admin token, and with another one than is good now.
    await accounts.endSession(session.hash);
    await accounts.createSession({ ...session, logOutHint: undefined });
    expect(await status()).toBe(401);
  });

  it('takes neither a forged cookie nor one of another scheme', async () => {
    const sample = await samplePortal();
    const { csrf, cookie } = await signIn(sample.server, { token: adminToken });
    for (const forged of [`weir_session=${newToken()}`, 'weir_session=', cookie.replace('weir_', '__Host-weir_')]) {
      const headers = asBrowser({ cookie: forged, csrf });
      for (const [route, request] of Object.entries(portalRequests(sample))) {
        if (accessTable[route as keyof typeof accessTable] === 'everyone') continue;
        expect(await statusOf(sample, request, headers), route).toBe(401);
      }
    }
  });

  it('takes no change from a cookie without the CSRF token, and each with a Bearer token', async () => {
    const sample = await samplePortal();
    const { cookie } = await signIn(sample.server, { token: adminToken });
    const other = await signIn(sample.server, { token: adminToken });
    for (const [route, request] of Object.entries(portalRequests(sample))) {
      const isChange = !route.startsWith('GET ');
      if (!isChange || accessTable[route as keyof typeof accessTable] === 'everyone') continue;
      expect(await statusOf(sample, request, { cookie }), route).toBe(403);
      expect(await statusOf(sample, request, { cookie, 'x-csrf-token': other.csrf }), route).toBe(403);
      expect(await statusOf(sample, request, withToken), route).toBe(
        expected[route as keyof typeof accessTable][people.indexOf('admin')],
      );
    }
  });

  it('has each route, and no other: a path that is not there is 404 for everyone', async () => {
    const sample = await samplePortal();
    expect(Object.keys(expected).toSorted()).toEqual(Object.keys(accessTable).toSorted());
    for (const url of ['/api', '/api/v1', '/api/v1/nothing', '/api/v2/keys']) {
      expect(await statusOf(sample, { url }, withToken), url).toBe(404);
    }
  });
});

function rankOf(route: string): number {
  return ['POST /api/v1/keys/:id/revoke', 'DELETE /api/v1/session'].indexOf(route);
}
