import { expect, it } from 'vitest';
import { sampleNow } from '../../test/support/sample-database.ts';
import { asBrowser, type Browser, call, memberOf, samplePortal } from '../../test/support/sample-portal.ts';
import type { OidcSignIn } from './oidc.ts';

const api = '/api/v1';
const address = 'ada@example.com';
const password = 'correct horse battery';

const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;

type Sample = Awaited<ReturnType<typeof samplePortal>>;

const post = ({ server }: Sample, path: string, payload: object) =>
  server.inject({ method: 'POST', url: `${api}${path}`, payload });

async function invite(sample: Sample, given: object = {}): Promise<string> {
  const { status, body } = await call(sample.server, {
    ...{ method: 'POST', url: `${api}/users`, payload: { address, workspace: 'acme', ...given } },
  });
  expect(status).toBe(201);
  return (body as { readonly token: string }).token;
}

function browserOf(reply: Awaited<ReturnType<typeof post>>): Browser {
  const [cookie] = reply.cookies;
  expect(reply.statusCode).toBe(201);
  return { cookie: `${cookie?.name}=${cookie?.value}`, csrf: reply.json<{ csrf_token: string }>().csrf_token };
}

it('an invited person sets a password by the link, is signed in, and signs in again with it', async () => {
  const sample = await samplePortal();
  const ways = async () => (await sample.server.inject({ url: `${api}/sign-in` })).json<{ password: boolean }>();
  expect((await ways()).password).toBe(false);
  const token = await invite(sample, { workspace_role: 'owner' });
  expect((await ways()).password).toBe(true);
  expect((await post(sample, '/session', { address, password })).statusCode).toBe(401);
  const first = browserOf(await post(sample, '/invitation', { token, password }));
  expect((await post(sample, '/invitation', { token, password })).statusCode).toBe(404);
  const reply = await post(sample, '/session', { address: 'ADA@example.com', password });
  expect(reply.json()).toMatchObject({
    ...{ role: 'member', name: address, key_id: null },
    workspaces: [{ id: sample.workspace.id, name: 'acme', role: 'owner' }],
  });
  const browser = browserOf(reply);
  for (const one of [first, browser]) {
    const keys = await sample.server.inject({ url: `${api}/workspaces/acme/keys`, headers: asBrowser(one) });
    expect(keys.statusCode).toBe(200);
  }
  const made = await sample.server.inject({
    ...{ method: 'POST', url: `${api}/workspaces/acme/keys`, payload: { name: 'mine' } },
    headers: asBrowser(browser),
  });
  expect(made.json()).toMatchObject({ made_by: { kind: 'portal-user', name: address } });
  expect(JSON.stringify([sample.logged, (await call(sample.server, { url: `${api}/audit` })).body])).not.toMatch(
    new RegExp(`${password}|argon2id|${token}`),
  );
});

it('a local admin may do everything, under its own name, and is not the admin token', async () => {
  const sample = await samplePortal();
  const token = await invite(sample, { role: 'admin', workspace: undefined });
  const headers = asBrowser(browserOf(await post(sample, '/invitation', { token, password })));
  const reply = await sample.server.inject({
    ...{ method: 'POST', url: `${api}/workspaces`, payload: { name: 'new' }, headers },
  });
  expect(reply.statusCode).toBe(201);
  const { body } = await call(sample.server, { url: `${api}/audit?action=workspace.create` });
  expect(body).toMatchObject({ data: [{ actor: { kind: 'portal-user', name: address } }, {}, {}] });
});

it('only admins see and invite users, and removing one ends its sessions', async () => {
  const sample = await samplePortal();
  const token = await invite(sample);
  const headers = asBrowser(browserOf(await post(sample, '/invitation', { token, password })));
  const owner = asBrowser(await memberOf(sample, sample.workspace.id));
  for (const one of [headers, owner]) {
    expect((await sample.server.inject({ url: `${api}/users`, headers: one })).statusCode).toBe(403);
  }
  const { body } = await call(sample.server, { url: `${api}/users` });
  expect(body).toEqual({
    data: [
      {
        ...{ id: expect.stringMatching(/^user_/) as string, address, role: 'member', has_password: true },
        ...{ invited_until: null, created_at: new Date(sampleNow).toISOString() },
        last_sign_in_at: new Date(sampleNow).toISOString(),
      },
    ],
    next_cursor: null,
  });
  expect((await call(sample.server, { method: 'DELETE', url: `${api}/users/${address}` })).status).toBe(204);
  expect((await sample.server.inject({ url: `${api}/session`, headers })).statusCode).toBe(401);
  expect((await post(sample, '/session', { address, password })).statusCode).toBe(401);
});

it('a member of no workspace gets a password, and is told what is missing', async () => {
  const sample = await samplePortal();
  const token = await invite(sample, { workspace: undefined });
  expect((await post(sample, '/invitation', { token, password })).statusCode).toBe(403);
  const reply = await post(sample, '/session', { address, password });
  expect([reply.statusCode, reply.cookies]).toEqual([403, []]);
  await sample.accounts.inviteMember('acme', { address, role: 'viewer' }, by);
  expect((await post(sample, '/session', { address, password })).statusCode).toBe(201);
});

it('an unknown address and a wrong password get the same answer', async () => {
  const sample = await samplePortal();
  await post(sample, '/invitation', { token: await invite(sample), password });
  const wrong = await post(sample, '/session', { address, password: 'wrong horse battery' });
  const unknown = await post(sample, '/session', { address: 'eve@example.com', password });
  const none = await post(sample, '/session', { address: 'no address', password });
  expect(wrong.statusCode).toBe(401);
  expect([unknown.body, none.body]).toEqual([wrong.body, wrong.body]);
});

it('after 30 failures of a user its password is not checked, from any address, until ten minutes have passed', async () => {
  const sample = await samplePortal();
  await post(sample, '/invitation', { token: await invite(sample), password });
  const from = (remoteAddress: string, given: string) =>
    sample.server.inject({
      ...{ method: 'POST', url: `${api}/session`, payload: { address, password: given }, remoteAddress },
    });
  for (let count = 0; count < 30; count += 1) {
    expect((await from(`10.0.0.${count}`, 'wrong horse battery')).statusCode).toBe(401);
  }
  const blocked = await from('10.0.1.1', password);
  expect([blocked.statusCode, blocked.headers['retry-after']]).toEqual([429, '600']);
  sample.clock.advance(600_000);
  expect((await from('10.0.1.1', password)).statusCode).toBe(201);
});

it('after 30 failures from an address, no password and no link is checked from there', async () => {
  const sample = await samplePortal();
  const token = await invite(sample);
  for (let count = 0; count < 30; count += 1) {
    const reply = await post(sample, '/session', { address: `eve${count}@example.com`, password });
    expect(reply.statusCode).toBe(401);
  }
  expect((await post(sample, '/session', { address, password })).statusCode).toBe(429);
  expect((await post(sample, '/invitation', { token, password })).statusCode).toBe(429);
});

it.each([
  [{ token: 't', password: 'short' }, 'password'],
  [{ token: '', password }, 'token'],
])('%o is refused, and the field is named', async (given, field) => {
  const sample = await samplePortal();
  const reply = await post(sample, '/invitation', given);
  expect([reply.statusCode, reply.json<{ error: { field: string } }>().error.field]).toEqual([400, field]);
});

it('is off where an identity provider is set: no invitation, no sign-in, and open sessions end', async () => {
  const before = await samplePortal();
  const token = await invite(before);
  const browser = browserOf(await post(before, '/invitation', { token, password }));
  // The same portal, with a provider from now on.
  Object.assign(before.portal, { oidc: { name: 'Example accounts' } as OidcSignIn });
  expect((await before.server.inject({ url: `${api}/session`, headers: asBrowser(browser) })).statusCode).toBe(401);
  for (const [path, payload] of [
    ['/session', { address, password }],
    ['/invitation', { token, password }],
  ] as const) {
    expect((await post(before, path, payload)).statusCode).toBe(404);
  }
  const again = await call(before.server, { method: 'POST', url: `${api}/users`, payload: { address } });
  expect(again.status).toBe(404);
  expect((await before.server.inject({ url: `${api}/sign-in` })).json()).toMatchObject({ password: false });
});
