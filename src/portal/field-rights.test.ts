import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sampleNow } from '../../test/support/sample-database.ts';
import { call, samplePortal } from '../../test/support/sample-portal.ts';
import type { Scope } from '../books/core/rights.ts';
import { checkFieldRights } from './field-rights.ts';

type Sample = Awaited<ReturnType<typeof samplePortal>>;

async function ask(
  { accounts, server }: Sample,
  scopes: readonly Scope[],
  [method, path, payload]: readonly ['POST' | 'PATCH', string, object],
) {
  const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
  const { token } = await accounts.createServiceAccount(
    { name: scopes.join('-').replaceAll(':', '-'), scopes, workspaces: undefined, expiresAt: sampleNow + 3_600_000 },
    by,
  );
  const headers = { authorization: `Bearer ${token}` };
  return call(server, { method, url: `/api/v1${path}`, payload, headers });
}

const money: readonly (readonly [string, Parameters<typeof ask>[2], object])[] = [
  ['a first credit', ['POST', '/workspaces', { name: 'new', credit: '1000000' }], { balance: '1000000' }],
  ['a debt of a new one', ['POST', '/workspaces', { name: 'new', credit_limit: '1000' }], { credit_limit: '1000' }],
  ['a debt', ['PATCH', '/workspaces/acme', { credit_limit: '1000' }], { credit_limit: '1000' }],
  ['a debt among others', ['PATCH', '/workspaces/acme', { max_in_flight: 3, credit_limit: '7' }], { max_in_flight: 3 }],
];

describe('a field of a body', () => {
  it.each(money)('needs the right to what it changes: %s', async (_, request) => {
    const sample = await samplePortal();
    const before = await sample.accounts.listWorkspaces();
    const { status, body } = await ask(sample, ['workspaces:write'], request);
    expect([status, body]).toMatchObject([403, { error: { message: 'This token lacks the scope balance:write.' } }]);
    expect(await sample.accounts.listWorkspaces()).toEqual(before);
  });

  it.each(money)('is money where the right is there: %s', async (_, request, changed) => {
    const { status, body } = await ask(await samplePortal(), ['workspaces:write', 'balance:write'], request);
    expect([status, body]).toMatchObject([request[0] === 'POST' ? 201 : 200, changed]);
  });

  it('changes nothing with the value of a missing one, and needs no right then', async () => {
    const sample = await samplePortal();
    const { status } = await ask(
      sample,
      ['workspaces:write'],
      ['POST', '/workspaces', { name: 'new', credit: '0', credit_limit: '0.00', max_in_flight: 3 }],
    );
    expect(status).toBe(201);
  });

  it('gives no right to the other fields of its route', async () => {
    const sample = await samplePortal();
    const { status, body } = await ask(
      sample,
      ['balance:write'],
      ['PATCH', '/workspaces/acme', { credit_limit: '1', status: 'suspended' }],
    );
    expect([status, body]).toMatchObject([403, { error: { message: 'This token lacks the scope workspaces:write.' } }]);
  });
});

it('a field that is missing in the table stops the start', () => {
  const body = z.strictObject({ status: z.string(), gift: z.string() });
  expect(() => checkFieldRights('PATCH /api/v1/workspaces/:id', body)).toThrow('gift of PATCH');
  expect(() => checkFieldRights('POST /api/v1/session', body)).not.toThrow();
});
