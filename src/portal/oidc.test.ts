import { describe, expect, it } from 'vitest';
import {
  clientSecret,
  createJar,
  followProvider,
  type OidcProvider,
  startOidcProvider,
} from '../../test/support/oidc-provider.ts';
import { samplePortal } from '../../test/support/sample-portal.ts';
import { createOidcSignIn } from './oidc.ts';

const portalUrl = new URL('http://127.0.0.1:9/');

/** A person whose groups change. */
const changing = { uma: { preferred_username: 'uma', groups: ['acme'] } };

const people = {
  ...changing,
  ada: { email: 'ada@example.com', email_verified: true, groups: ['staff'] },
  mia: { email: 'mia@example.com', email_verified: true, groups: ['acme', 'elsewhere'] },
  eve: { email: 'ada@example.com', email_verified: false, preferred_username: 'eve', groups: [] },
  olga: { preferred_username: 'olga', groups: ['operators'] },
  ivy: { email: 'Ivy@example.com', email_verified: true, groups: [] },
  ian: { email: 'ivy@example.com', email_verified: false, preferred_username: 'ivy@example.com' },
  vic: { email: 'vic@example.com', email_verified: true, groups: ['acme:viewer', 'other:member', 'other:viewer'] },
};

async function begin() {
  const provider = await startOidcProvider(people, portalUrl);
  const oidc = createOidcSignIn({
    issuer: provider.issuer,
    clientId: 'portal',
    clientSecret,
    name: 'Example accounts',
    portalUrl,
    scopes: 'openid profile email',
    admins: [
      { kind: 'email', value: 'ada@example.com' },
      { kind: 'group', value: 'operators' },
    ],
    groupsClaim: 'groups',
  });
  const sample = await samplePortal({}, { oidc });
  const visit = createVisit(sample.server, provider);
  return { ...sample, provider, visit, oidc };
}

type Server = Awaited<ReturnType<typeof samplePortal>>['server'];

/** A browser with its cookies of the portal and of the provider. */
function createVisit(server: Server, { issuer }: OidcProvider) {
  const [own, others] = [createJar(), createJar()];
  const get = async (url: string, method: 'GET' | 'DELETE' = 'GET', csrf = '') => {
    const reply = await server.inject({ method, url, headers: { cookie: own.header(), 'x-csrf-token': csrf } });
    own.take([reply.headers['set-cookie'] ?? []].flat());
    return reply;
  };
  const locationOf = async (url: string): Promise<URL> => {
    const { statusCode, headers, body } = await get(url);
    expect([statusCode, body]).toEqual([302, '']);
    return new URL(String(headers.location), portalUrl);
  };
  const atProvider = (url: URL, login: string): Promise<URL> => followProvider(url, others, login);
  /** Where the browser is in the end, as path and query. */
  const signIn = async (login: string): Promise<string> => {
    let at = await locationOf('/api/v1/oidc/sign-in');
    while (at.origin === issuer.origin) {
      const back = await atProvider(at, login);
      at = await locationOf(back.pathname + back.search);
    }
    return at.pathname + at.search;
  };
  const session = async () => (await get('/api/v1/session')).json<Readonly<Record<string, unknown>>>();
  return { own, others, get, locationOf, atProvider, signIn, session };
}

describe('sign-in with OpenID Connect', () => {
  it('behind a proxy with TLS names its own address to the provider, and keeps its cookie for TLS', async () => {
    const { oidc } = await begin();
    const { server } = await samplePortal({}, { oidc, hops: 1 });
    const { headers } = await server.inject({
      url: '/api/v1/oidc/sign-in',
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    });
    expect(new URL(String(headers.location)).searchParams.get('redirect_uri')).toBe(
      new URL('/api/v1/oidc/callback', portalUrl).href,
    );
    expect(String(headers['set-cookie']).replace(/=[^;]+/, '=x')).toBe(
      '__Host-weir_sign_in=x; Max-Age=900; Path=/; HttpOnly; Secure; SameSite=Lax',
    );
  });

  it('is offered on the sign-in page', async () => {
    const { visit } = await begin();
    expect((await visit.get('/api/v1/sign-in')).json()).toMatchObject({
      password: false,
      oidc: { name: 'Example accounts', url: '/api/v1/oidc/sign-in' },
    });
  });

  it.each([
    ['whose verified address is in the list', 'ada', 'ada@example.com'],
    ['in a group of the list', 'olga', 'olga'],
  ])('makes an admin of a person %s', async (_, login, name) => {
    const { visit, accounts, server } = await begin();
    expect(await visit.signIn(login)).toBe('/');
    const session = await visit.session();
    expect(session).toMatchObject({ role: 'admin', name, workspaces: [] });
    const made = await server.inject({
      method: 'POST',
      url: '/api/v1/workspaces',
      headers: { cookie: visit.own.header(), 'x-csrf-token': String(session['csrf_token']) },
      payload: { name: 'new' },
    });
    expect(made.statusCode).toBe(201);
    const [entry] = await accounts.listAudit({}, 1);
    expect(entry).toMatchObject({ action: 'workspace.create', actor: { kind: 'portal-user', name } });
  });

  it('makes an owner of a person whose group names a workspace', async () => {
    const { visit, workspace, otherWorkspace } = await begin();
    expect(await visit.signIn('mia')).toBe('/');
    expect(await visit.session()).toMatchObject({
      role: 'member',
      name: 'mia@example.com',
      workspaces: [{ id: workspace.id, name: 'acme', role: 'owner' }],
    });
    expect((await visit.get(`/api/v1/workspaces/${otherWorkspace.id}`)).statusCode).toBe(404);
  });

  it('gives the role that a group has after the name of the workspace, the strongest of several', async () => {
    const { visit } = await begin();
    expect(await visit.signIn('vic')).toBe('/');
    expect(await visit.session()).toMatchObject({
      workspaces: [
        { name: 'acme', role: 'viewer' },
        { name: 'other', role: 'member' },
      ],
    });
  });

  it('signs in a person who was invited by the verified address, and nobody who only claims it', async () => {
    const { visit, accounts, server, provider, workspace } = await begin();
    expect(await visit.signIn('ivy')).toBe('/?sign_in=no-workspace');
    const by = { actor: { kind: 'portal-user', name: 'mia' }, now: 0 } as const;
    const invited = await accounts.inviteMember('other', { address: 'ivy@example.com', role: 'member' }, by);
    const claimant = createVisit(server, provider);
    expect(await claimant.signIn('ian')).toBe('/?sign_in=no-workspace');
    expect(await visit.signIn('ivy')).toBe('/');
    expect(await visit.session()).toMatchObject({ workspaces: [{ name: 'other', role: 'member' }] });
    // Another workspace appears in the open session, and the session ends with the last role.
    const second = await accounts.inviteMember('acme', { address: 'ivy@example.com', role: 'viewer' }, by);
    expect((await visit.get(`/api/v1/workspaces/${workspace.id}`)).statusCode).toBe(200);
    await accounts.inviteMember('other', { address: 'mia@example.com', role: 'owner' }, by);
    for (const one of [invited, second]) await accounts.removeMember(one, by);
    expect((await visit.get('/api/v1/session')).statusCode).toBe(401);
  });

  it('refuses a person without a workspace, whatever address they claim', async () => {
    const { visit, logged } = await begin();
    expect(await visit.signIn('eve')).toBe('/?sign_in=no-workspace');
    expect((await visit.get('/api/v1/session')).statusCode).toBe(401);
    expect(logged).toMatchObject([{ name: 'eve', message: 'sign-in refused: no workspace' }]);
  });

  it('takes what groups gave before from a person whom it refuses now, in every browser', async () => {
    const { accounts, logged, provider, server, visit, workspace } = await begin();
    expect(await visit.signIn('uma')).toBe('/');
    const sources = async () => (await accounts.listMembers(workspace.id)).map(({ name, source }) => [name, source]);
    expect(await sources()).toContainEqual(['uma', 'group']);
    expect((await visit.get(`/api/v1/workspaces/${workspace.id}`)).statusCode).toBe(200);
    changing.uma.groups = [];
    // While the provider does not name the person again, what it said last holds.
    expect((await visit.get(`/api/v1/workspaces/${workspace.id}`)).statusCode).toBe(200);
    expect(await createVisit(server, provider).signIn('uma')).toBe('/?sign_in=no-workspace');
    expect(logged).toMatchObject([{ name: 'uma' }]);
    expect(await sources()).not.toContainEqual(['uma', 'group']);
    expect((await visit.get('/api/v1/session')).statusCode).toBe(401);
  });

  it('takes an answer once, and only from the browser that asked', async () => {
    const { visit, provider, server } = await begin();
    const back = await visit.atProvider(await visit.locationOf('/api/v1/oidc/sign-in'), 'mia');
    const stranger = createVisit(server, provider);
    expect((await stranger.locationOf(back.pathname + back.search)).search).toBe('?sign_in=refused');
    await stranger.locationOf('/api/v1/oidc/sign-in');
    expect((await stranger.locationOf(back.pathname + back.search)).search).toBe('?sign_in=refused');
    expect((await visit.locationOf(back.pathname + back.search)).search).toBe('');
    expect((await visit.locationOf(back.pathname + back.search)).search).toBe('?sign_in=refused');
    expect(stranger.own.has('weir_session')).toBe(false);
  });

  it('says that the provider has refused', async () => {
    const { visit } = await begin();
    const asked = await visit.locationOf('/api/v1/oidc/sign-in');
    const state = asked.searchParams.get('state') ?? '';
    const back = await visit.locationOf(`/api/v1/oidc/callback?error=access_denied&state=${state}`);
    expect(back.search).toBe('?sign_in=refused');
  });

  it('goes on after the provider has changed its keys', async () => {
    const { visit, provider, server } = await begin();
    expect(await visit.signIn('mia')).toBe('/');
    provider.rotateKeys();
    const later = createVisit(server, provider);
    const back = await later.atProvider(await later.locationOf('/api/v1/oidc/sign-in'), 'ada');
    // The keys that are known do not fit any more: the browser is sent to the provider once more, and the new ones are read.
    const again = await later.locationOf(back.pathname + back.search);
    expect(again.origin).toBe(provider.issuer.origin);
    const end = await later.atProvider(again, 'ada');
    expect((await later.locationOf(end.pathname + end.search)).href).toBe(portalUrl.href);
    expect(await later.session()).toMatchObject({ role: 'admin' });
  });

  it('refuses what no key of the provider has signed, and does not ask for ever', async () => {
    const { visit, provider } = await begin();
    provider.tellForeignKeys();
    expect(await visit.signIn('ada')).toBe('/?sign_in=keys-changed');
    expect(visit.own.has('weir_session')).toBe(false);
  });

  it('works as soon as the provider is back', async () => {
    const { visit, provider } = await begin();
    provider.setAway(true);
    expect((await visit.locationOf('/api/v1/oidc/sign-in')).search).toBe('?sign_in=provider-away');
    provider.setAway(false);
    expect(await visit.signIn('mia')).toBe('/');
  });

  it('ends with the provider, too', async () => {
    const { visit, provider, logged } = await begin();
    await visit.signIn('mia');
    const csrf = String((await visit.session())['csrf_token']);
    const reply = await visit.get('/api/v1/session', 'DELETE', csrf);
    expect(reply.statusCode).toBe(200);
    const logOut = new URL(reply.json<{ log_out_url: string }>().log_out_url);
    expect(logOut.origin).toBe(provider.issuer.origin);
    expect((await visit.get('/api/v1/session')).statusCode).toBe(401);
    expect((await followProvider(logOut, visit.others, 'mia')).href).toBe(portalUrl.href);
    // The provider asks who it is again.
    await visit.signIn('ada');
    expect(await visit.session()).toMatchObject({ name: 'ada@example.com' });
    expect(logged).toEqual([]);
  });
});

describe('a portal without a provider', () => {
  it('says so', async () => {
    const { server } = await samplePortal();
    for (const path of ['sign-in', 'callback']) {
      const { statusCode, body } = await server.inject({ url: `/api/v1/oidc/${path}` });
      expect([statusCode, body]).toEqual([404, expect.stringContaining('WEIR_OIDC_ISSUER')]);
    }
  });
});
