// @suite both-databases
import { describe, expect, it } from 'vitest';
import { Refusal } from '../core/operator-refusals.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { maxBalance, type Money, parseUsd } from '../../core/money.ts';
import { writeReservations } from './reservations.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import { creditWorkspace } from './credits.ts';
import { listAudit } from './audit.ts';
import {
  changeWorkspace,
  createWorkspace,
  findWorkspace,
  listWorkspaces,
  pageOfWorkspaces,
  workspaceNames,
} from './workspaces.ts';

const wanted = { credit: 0n, maxInFlight: 256 };

function parseUsdOrFail(text: string): Money {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Error(`${text} is no amount`);
  return amount;
}

describe('workspaces', () => {
  it('are found by name and by id', async () => {
    const { queries, workspace } = await sampleDatabase();
    expect(await findWorkspace(queries, 'acme')).toEqual(workspace);
    expect(await findWorkspace(queries, workspace.id)).toEqual(workspace);
    await expect(findWorkspace(queries, 'nobody')).rejects.toThrow('There is no workspace named "nobody".');
    await expect(findWorkspace(queries, `ws_${'0'.repeat(20)}`)).rejects.toThrow('There is no workspace with the id');
  });

  it('are listed by name', async () => {
    const { queries } = await sampleDatabase();
    await createWorkspace(queries, { ...wanted, name: 'aardvark' }, sampleAuthor);
    expect((await listWorkspaces(queries)).map(({ name }) => name)).toEqual(['aardvark', 'acme']);
  });

  it('are shown in pages by name: all, or those with the given ids', async () => {
    const { queries, workspace } = await sampleDatabase();
    const [b, a] = [
      await createWorkspace(queries, { ...wanted, name: 'b' }, sampleAuthor),
      await createWorkspace(queries, { ...wanted, name: 'a' }, sampleAuthor),
    ];
    const page = (limit: number, cursor?: string, ids?: readonly string[]) =>
      pageOfWorkspaces(queries, { limit, cursor }, ids);
    expect(await page(2)).toEqual({ items: [a, workspace], next: 'acme' });
    expect(await page(2, 'acme')).toEqual({ items: [b], next: undefined });
    expect(await page(3)).toEqual({ items: [a, workspace, b], next: undefined });
    expect(await page(1, undefined, [b.id, a.id])).toEqual({ items: [a], next: 'a' });
    expect(await page(1, 'a', [b.id, a.id])).toEqual({ items: [b], next: undefined });
    expect(await page(2, undefined, [])).toEqual({ items: [], next: undefined });
  });

  it('are named by their ids, and an id that names none stands for itself', async () => {
    const { queries, workspace } = await sampleDatabase();
    const nameOf = await workspaceNames(queries);
    expect([nameOf(workspace.id), nameOf('ws_gone')]).toEqual(['acme', 'ws_gone']);
  });

  it('begin with their first credit, and with none if they were given nothing', async () => {
    const { queries } = await sampleDatabase('0');
    const made = await createWorkspace(queries, { ...wanted, name: 'rich', credit: maxBalance }, sampleAuthor);
    expect(made).toMatchObject({
      id: expect.stringMatching(/^ws_[0-9a-f]{20}$/),
      status: 'active',
      balance: maxBalance,
    });
    expect(await queries.selectFrom('credits').selectAll().execute()).toEqual([
      {
        id: expect.stringMatching(/^credit_[0-9a-f]{20}$/),
        ...{ workspace_id: made.id, amount: maxBalance, created_at: BigInt(sampleNow) },
        ...{ note: null, idempotency_key: null },
      },
    ]);
  });

  it.each([
    ['a name that is taken', { name: 'acme' }, { code: 'workspace_exists', field: 'name' }],
    ['a name that cannot be one', { name: 'a b' }, { code: 'name_malformed', field: 'name' }],
    ['more than a workspace holds', { credit: maxBalance + 1n }, { code: 'balance_full', field: 'amount' }],
  ])('are refused with %s, and the field is named', async (_, fault, refusal) => {
    const { queries } = await sampleDatabase();
    const failure = await createWorkspace(queries, { ...wanted, name: 'other', ...fault }, sampleAuthor).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(Refusal);
    expect(failure).toMatchObject(refusal);
  });

  it('that are missing are answered with the command that lists them', async () => {
    const { queries } = await sampleDatabase();
    for (const failing of [
      findWorkspace(queries, 'x'),
      changeWorkspace(queries, 'x', { status: 'active' }, sampleAuthor),
    ]) {
      await expect(failing).rejects.toMatchObject({
        ...{ code: 'workspace_not_found', sentence: 'There is no workspace named "x".' },
        message: 'There is no workspace named "x". `weir workspace list` shows them all.',
      });
    }
  });

  it('change several settings at once, and each change is in the trail', async () => {
    const { queries, workspace } = await sampleDatabase();
    const before = (await listAudit(queries, {}, 10)).length;
    const change = { status: 'suspended', maxInFlight: 7 } as const;
    expect(await changeWorkspace(queries, 'acme', change, sampleAuthor)).toEqual({ ...workspace, ...change });
    expect(await changeWorkspace(queries, 'acme', {}, sampleAuthor)).toEqual({ ...workspace, ...change });
    expect((await listAudit(queries, {}, 10)).slice(0, -before).map(({ action }) => action)).toEqual([
      'workspace.limits',
      'workspace.suspend',
    ]);
  });

  it('have unique names', async () => {
    const { queries } = await sampleDatabase();
    await expect(createWorkspace(queries, { ...wanted, name: 'acme' }, sampleAuthor)).rejects.toThrow(
      'already a workspace named "acme"',
    );
  });

  it.each(['', ' ', 'a b', '-a', '.a', 'a/b', 'é', 'a\n', 'x'.repeat(65), `ws_${'0'.repeat(20)}`])(
    'refuse the name %j',
    async (name) => {
      const { queries } = await sampleDatabase();
      await expect(createWorkspace(queries, { ...wanted, name }, sampleAuthor)).rejects.toThrow(
        'cannot be the name of a workspace',
      );
    },
  );

  it.each(['a', '0', 'Team.A_b-c', 'ws_mine', `my_ws_${'0'.repeat(20)}`, `ws_${'0'.repeat(21)}`, 'x'.repeat(64)])(
    'take the name %j',
    async (name) => {
      const { queries } = await sampleDatabase();
      const made = await createWorkspace(queries, { ...wanted, name }, sampleAuthor);
      expect(await findWorkspace(queries, name)).toEqual(made);
    },
  );

  it('are credited to the last unit', async () => {
    const { queries } = await sampleDatabase('0.1');
    const { balance } = await creditWorkspace(queries, 'acme', { amount: 1n, note: undefined }, sampleAuthor);
    expect(balance).toBe(100_000_000_001n);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(100_000_000_001n);
  });

  it('hold the cap and not a unit more, and a refused credit leaves no trace', async () => {
    const { queries } = await sampleDatabase('1');
    const room = maxBalance - (parseUsd('1') ?? 0n);
    await expect(
      creditWorkspace(queries, 'acme', { amount: room + 1n, note: undefined }, sampleAuthor),
    ).rejects.toThrow('at most $9000000');
    expect((await findWorkspace(queries, 'acme')).balance).toBe(parseUsd('1'));
    expect(await queries.selectFrom('credits').select('amount').execute()).toEqual([{ amount: parseUsd('1') }]);
    expect((await creditWorkspace(queries, 'acme', { amount: room, note: undefined }, sampleAuthor)).balance).toBe(
      maxBalance,
    );
  });

  it('refuse a credit that no 64-bit column could hold, and one of nothing', async () => {
    const { queries } = await sampleDatabase();
    await expect(
      creditWorkspace(queries, 'acme', { amount: 2n ** 80n, note: undefined }, sampleAuthor),
    ).rejects.toThrow('at most');
    await expect(creditWorkspace(queries, 'acme', { amount: 0n, note: undefined }, sampleAuthor)).rejects.toThrow(
      'more than 0',
    );
    await expect(
      createWorkspace(queries, { ...wanted, name: 'rich', credit: maxBalance + 1n }, sampleAuthor),
    ).rejects.toThrow('at most');
  });

  const correction = { amount: -parseUsdOrFail('4'), note: ' refund of order 7 ' };

  it('are corrected down to nothing with a note, and the books stay right', async () => {
    const { queries } = await sampleDatabase('10');
    expect((await creditWorkspace(queries, 'acme', correction, sampleAuthor)).balance).toBe(parseUsdOrFail('6'));
    await creditWorkspace(queries, 'acme', { amount: -parseUsdOrFail('6'), note: 'closed' }, sampleAuthor);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(0n);
    expect(await queries.selectFrom('credits').select(['amount', 'note']).orderBy('amount').execute()).toEqual([
      { amount: -parseUsdOrFail('6'), note: 'closed' },
      { amount: -parseUsdOrFail('4'), note: 'refund of order 7' },
      { amount: parseUsdOrFail('10'), note: null },
    ]);
    const { workspaces } = await verifyLedger(queries);
    expect(workspaces).toMatchObject([{ credits: 0n, balance: 0n, expected: 0n }]);
  });

  it('refuse a correction beyond what is left after the requests that were settled, and keep every unit', async () => {
    const { queries, ids, settle } = await sampleDatabase('10');
    await settle([sampleOutcome({ ...ids, requestId: 'r', cost: parseUsdOrFail('6') + 1n })]);
    await expect(creditWorkspace(queries, 'acme', correction, sampleAuthor)).rejects.toThrow(
      'A correction of -$4 is more than the books allow: the balance of "acme" is $3.999999999999',
    );
    expect((await findWorkspace(queries, 'acme')).balance).toBe(parseUsdOrFail('4') - 1n);
    await settle([sampleOutcome({ ...ids, requestId: 's', cost: parseUsdOrFail('5') })]);
    const least = { amount: -1n, note: 'overspent already' };
    await expect(creditWorkspace(queries, 'acme', least, sampleAuthor)).rejects.toThrow('more than the books allow');
    expect(await queries.selectFrom('credits').select('amount').execute()).toHaveLength(1);
  });

  it('refuse a correction of what is reserved for requests under way', async () => {
    const { queries, workspace } = await sampleDatabase('10');
    const reserve = (replica: string, amount: string) =>
      writeReservations(queries, {
        ...{ replica, now: sampleNow },
        reserved: new Map([[workspace.id, parseUsdOrFail(amount)]]),
      });
    await reserve('a', '4');
    await reserve('b', '2.5');
    await expect(creditWorkspace(queries, 'acme', correction, sampleAuthor)).rejects.toThrow(
      'the balance of "acme" is $10, and $6.5 is reserved for in-flight requests. Wait until they have ended.',
    );
    await reserve('b', '2');
    expect((await creditWorkspace(queries, 'acme', correction, sampleAuthor)).balance).toBe(parseUsdOrFail('6'));
  });

  it.each([undefined, '', '  '])('refuse a correction with the note %j', async (note) => {
    const { queries } = await sampleDatabase();
    await expect(creditWorkspace(queries, 'acme', { ...correction, note }, sampleAuthor)).rejects.toThrow(
      '--note TEXT',
    );
  });

  it.each(['a\nb', 'a\u001b[2J', 'a\u202eb', 'x'.repeat(501)])('refuse the note %j', async (note) => {
    const { queries } = await sampleDatabase();
    await expect(creditWorkspace(queries, 'acme', { amount: 1n, note }, sampleAuthor)).rejects.toMatchObject({
      ...{ field: 'note', message: 'A note must be one line of at most 500 characters.' },
    });
  });

  it('may have more or fewer requests in flight than when they were made', async () => {
    const { queries, workspace } = await sampleDatabase();
    expect(await changeWorkspace(queries, 'acme', { maxInFlight: 7 }, sampleAuthor)).toEqual({
      ...workspace,
      maxInFlight: 7,
    });
    expect((await findWorkspace(queries, 'acme')).maxInFlight).toBe(7);
    await expect(changeWorkspace(queries, 'nobody', { maxInFlight: 7 }, sampleAuthor)).rejects.toThrow(
      'There is no workspace',
    );
  });

  it('have limits in tokens a minute, of their own and of tags, until they are removed', async () => {
    const { queries } = await sampleDatabase();
    await createWorkspace(queries, { ...wanted, name: 'limited' }, sampleAuthor);
    const tokens = { tokensPerMinute: 5_000, tagTokensPerMinute: { 'team=b': 2, 'team=a': 1 } };
    expect(await changeWorkspace(queries, 'limited', tokens, sampleAuthor)).toMatchObject(tokens);
    await changeWorkspace(queries, 'limited', { maxInFlight: 3 }, sampleAuthor);
    expect(await findWorkspace(queries, 'limited')).toMatchObject({ maxInFlight: 3, ...tokens });
    const removed = { tokensPerMinute: undefined, tagTokensPerMinute: undefined };
    await changeWorkspace(queries, 'limited', removed, sampleAuthor);
    expect(await findWorkspace(queries, 'limited')).toMatchObject({ maxInFlight: 3, ...removed });
  });

  it('are suspended and resumed, as often as one likes', async () => {
    const { queries } = await sampleDatabase();
    for (const status of ['suspended', 'suspended', 'active', 'active'] as const) {
      expect((await changeWorkspace(queries, 'acme', { status }, sampleAuthor)).status).toBe(status);
      expect((await findWorkspace(queries, 'acme')).status).toBe(status);
    }
  });
});
