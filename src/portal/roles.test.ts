// @suite both-databases
import { describe, expect, it } from 'vitest';
import { asBrowser, type Browser, memberOf, samplePortal } from '../../test/support/sample-portal.ts';
import type { SessionObject } from './api/session.ts';

type Sample = Awaited<ReturnType<typeof samplePortal>>;

const api = '/api/v1';

async function ask(
  { server }: Sample,
  who: Browser,
  [method, url, payload]: readonly ['GET' | 'POST' | 'PATCH', string, object?],
) {
  const reply = await server.inject({
    ...{ method, url: `${api}${url}`, headers: asBrowser(who) },
    ...(payload && { payload }),
  });
  return { status: reply.statusCode, body: reply.json<Readonly<Record<string, unknown>>>() };
}

async function team(sample: Sample) {
  const [ada, mia, vic] = await Promise.all([
    memberOf(sample, sample.workspace.id, { role: 'owner', subject: 'ada' }),
    memberOf(sample, sample.workspace.id, { role: 'member', subject: 'mia' }),
    memberOf(sample, sample.workspace.id, { role: 'viewer', subject: 'vic' }),
  ]);
  return { ada, mia, vic };
}

const message = (body: Readonly<Record<string, unknown>>): unknown => body['error'];

describe('keys of a team', () => {
  it('are changed by the member who made them and by owners, and by no other member', async () => {
    const sample = await samplePortal();
    const { ada, mia } = await team(sample);
    const other = await memberOf(sample, sample.workspace.id, { role: 'member', subject: 'max' });
    const made = await ask(sample, mia, ['POST', '/workspaces/acme/keys', { name: 'notebook' }]);
    expect([made.status, made.body['may_change']]).toEqual([201, true]);
    const path = `/keys/${String(made.body['id'])}`;
    const refused = await ask(sample, other, ['PATCH', path, { name: 'mine' }]);
    expect(refused.status).toBe(403);
    expect(message(refused.body)).toMatchObject({
      message: 'Someone else created this key. This takes the role owner. You are member in the workspace "acme".',
    });
    expect((await ask(sample, other, ['GET', path])).body['may_change']).toBe(false);
    expect((await ask(sample, mia, ['PATCH', path, { name: 'notebook 2' }])).status).toBe(200);
    const rotated = await ask(sample, ada, ['POST', `${path}/rotate`, {}]);
    expect(rotated.status).toBe(201);
    // The new key goes on being its maker's.
    const next = `/keys/${String(rotated.body['id'])}`;
    expect((await ask(sample, other, ['POST', `${next}/revoke`])).status).toBe(403);
    expect((await ask(sample, mia, ['POST', `${next}/revoke`])).status).toBe(200);
    expect((await ask(sample, ada, ['POST', `${path}/revoke`])).status).toBe(200);
  });

  it('of a command line are changed by owners alone, and made by no viewer', async () => {
    const sample = await samplePortal();
    const { ada, mia, vic } = await team(sample);
    const path = `/keys/${sample.key.id}`;
    expect((await ask(sample, mia, ['PATCH', path, { name: 'x' }])).status).toBe(403);
    expect((await ask(sample, ada, ['PATCH', path, { name: 'x' }])).status).toBe(200);
    const refused = await ask(sample, vic, ['POST', '/workspaces/acme/keys', {}]);
    expect([refused.status, message(refused.body)]).toMatchObject([
      403,
      { message: 'This takes the role member or a stronger one. You are viewer.' },
    ]);
  });
});

it('a role of one workspace gives no right in another', async () => {
  const sample = await samplePortal();
  const elsewhere = [[sample.otherWorkspace.id, 'owner']] as const;
  const who = await memberOf(sample, sample.workspace.id, { role: 'viewer', elsewhere });
  expect((await ask(sample, who, ['POST', '/workspaces/other/keys', {}])).status).toBe(201);
  const refused = await ask(sample, who, ['POST', '/workspaces/acme/keys', {}]);
  expect([refused.status, message(refused.body)]).toMatchObject([
    403,
    { message: 'This takes the role member or a stronger one. You are viewer in the workspace "acme".' },
  ]);
  const session = await ask(sample, who, ['GET', '/session']);
  const { workspaces } = session.body as unknown as SessionObject;
  expect(workspaces.map(({ name, role, may }) => [name, role, may.includes('members:change')])).toEqual([
    ['acme', 'viewer', false],
    ['other', 'owner', true],
  ]);
});
