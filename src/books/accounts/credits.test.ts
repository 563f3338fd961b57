// @suite both-databases
import { describe, expect, it } from 'vitest';
import { Refusal } from '../core/operator-refusals.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { maxBalance } from '../../core/money.ts';
import { addCredit, pageOfCredits } from './credits.ts';
import { writeReservations } from './reservations.ts';
import { createWorkspace, findWorkspace } from './workspaces.ts';

const wanted = { amount: 5n, note: 'order 7', idempotencyKey: 'a' };

describe('a credit with an idempotency key', () => {
  it('is added once, however often it is sent, with or without a note', async () => {
    const { queries, workspace } = await sampleDatabase('0');
    const { note: _, ...plain } = { ...wanted, idempotencyKey: 'b' };
    for (const credit of [wanted, { ...plain, note: undefined }]) {
      const first = await addCredit(queries, 'acme', credit, sampleAuthor);
      const second = await addCredit(queries, 'acme', credit, { ...sampleAuthor, now: sampleNow + 1 });
      expect(second).toEqual(first);
    }
    expect((await findWorkspace(queries, workspace.id)).balance).toBe(10n);
  });

  it.each([
    ['another amount', { ...wanted, amount: 6n }],
    ['another note', { ...wanted, note: 'order 8' }],
    ['no note', { ...wanted, note: undefined }],
  ])('is refused with %s', async (_, other) => {
    const { queries } = await sampleDatabase('0');
    await addCredit(queries, 'acme', wanted, sampleAuthor);
    const refusal = await addCredit(queries, 'acme', other, sampleAuthor).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      message: 'Another credit was added with this idempotency key.',
      ...{ code: 'idempotency_key_reused', field: 'idempotency-key' },
    });
    expect((await findWorkspace(queries, 'acme')).balance).toBe(5n);
  });

  it('is added again to another workspace, and with another key', async () => {
    const { queries } = await sampleDatabase('0');
    await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    await addCredit(queries, 'acme', wanted, sampleAuthor);
    await addCredit(queries, 'other', wanted, sampleAuthor);
    await addCredit(queries, 'acme', { ...wanted, idempotencyKey: 'b' }, sampleAuthor);
    const balances = await Promise.all(['acme', 'other'].map((name) => findWorkspace(queries, name)));
    expect(balances.map(({ balance }) => balance)).toEqual([10n, 5n]);
  });
});

it('credits are shown newest first, of one workspace, in pages', async () => {
  const { queries, workspace } = await sampleDatabase('1');
  await createWorkspace(queries, { name: 'other', credit: 3n, maxInFlight: 1 }, sampleAuthor);
  const added = [];
  for (const [minutes, note] of [
    [1, 'first'],
    [2, 'second'],
    [2, undefined],
  ] as const) {
    const by = { ...sampleAuthor, now: sampleNow + minutes * 60_000 };
    added.push((await addCredit(queries, 'acme', { amount: 2n, note }, by)).credit);
  }
  expect(added[0]).toMatchObject({ amount: 2n, note: 'first', createdAt: sampleNow + 60_000 });
  const [first, ...sameMoment] = added;
  const second = sameMoment.toSorted((one, other) => (one.id < other.id ? 1 : -1));
  const page = (limit: number, cursor?: string) => pageOfCredits(queries, workspace.id, { limit, cursor });
  const all = await page(4);
  expect(all.items).toEqual([
    ...second,
    first,
    expect.objectContaining({ amount: 1_000_000_000_000n, note: undefined }),
  ]);
  expect(all.next).toBeUndefined();
  const begin = await page(1);
  const rest = await page(2, begin.next);
  expect([begin.items, rest.items]).toEqual([all.items.slice(0, 1), all.items.slice(1, 3)]);
  expect(await page(2, rest.next)).toEqual({ items: all.items.slice(3), next: undefined });
});

it.each([
  ['nothing', { amount: 0n }, ['amount', 'A credit must be more than 0 USD, or less than 0 for a correction.']],
  [
    'a correction without a note',
    { amount: -1n },
    [
      'note',
      'A correction takes money from a workspace, and needs a note with the reason.',
      'With the command: --note TEXT.',
    ],
  ],
  [
    'more than there is',
    { amount: -2_500_000_000_001n, note: 'refund' },
    ['amount', 'A correction of -$2.500000000001 is more than the books allow: the balance of "acme" is $2.5.'],
  ],
  [
    'more than a workspace holds',
    { amount: maxBalance },
    ['amount', 'The balance of "acme" would be $9000002.5; a workspace holds at most $9000000.'],
  ],
  [
    'more than any column holds',
    { amount: maxBalance + 1n },
    ['amount', 'The balance of "acme" would be $9000000.000000000001; a workspace holds at most $9000000.'],
  ],
] as const)('the reason for which %s is refused names the field', async (_, credit, [field, sentence, hint = '']) => {
  const { queries } = await sampleDatabase('2.5');
  const refusal = await addCredit(queries, 'acme', { note: undefined, ...credit }, sampleAuthor).catch(
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal).toMatchObject({ status: 400, field, sentence, message: `${sentence} ${hint}`.trim() });
});

it('a correction may take all that is left, of an overdrawn workspace nothing', async () => {
  const { queries, ids, settle } = await sampleDatabase('2.5');
  const all = { amount: -2_500_000_000_000n, note: 'x'.repeat(500) };
  expect((await addCredit(queries, 'acme', all, sampleAuthor)).credit.note).toBe(all.note);
  await settle([sampleOutcome({ ...ids, cost: 1_000_000_000_000n })]);
  await expect(addCredit(queries, 'acme', { amount: -1n, note: 'more' }, sampleAuthor)).rejects.toThrow(
    'A correction of -$0.000000000001 is more than the books allow: the balance of "acme" is -$1.',
  );
});

it('a credit is added whatever is reserved for requests under way', async () => {
  const { queries, workspace } = await sampleDatabase('0');
  const reserved = new Map([[workspace.id, 9n]]);
  await writeReservations(queries, { replica: 'a', reserved, now: sampleNow });
  expect((await addCredit(queries, 'acme', { amount: 1n, note: undefined }, sampleAuthor)).workspace.balance).toBe(1n);
});
