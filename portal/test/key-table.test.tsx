import { screen, within } from '@testing-library/react';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { KeyObject } from '../../src/portal/api/keys.ts';
import { KeyTable } from '../src/pages/key-table.tsx';
import { adminSession, keyObject, now, viewerSession } from './support/objects.ts';
import { show } from './support/show.tsx';

const row = (name: string) => screen.getByRole('row', { name: new RegExp(name) });

function showKeys(keys: Partial<KeyObject> | readonly Partial<KeyObject>[], as = adminSession) {
  const onChoose = vi.fn<(action: string, of: KeyObject) => void>();
  const all = [keys].flat().map(keyObject);
  return { reader: show(<KeyTable keys={all} onChoose={onChoose} />, { as }), onChoose, all };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(now) });
});

describe('the state of a key', () => {
  test.each([
    ['Active', {}],
    ['Suspended', { status: 'suspended' }],
    ['Revoked', { status: 'revoked' }],
    ['Expired', { expires_at: '2026-07-15T11:59:00.000Z' }],
    ['Active', { expires_at: '2026-07-15T12:01:00.000Z' }],
    // A revoked key is revoked, also past its expiry.
    ['Revoked', { status: 'revoked', expires_at: '2026-07-15T11:59:00.000Z' }],
  ] as const)('is %s with %j', (word, given) => {
    showKeys(given);
    expect(within(row('CI')).getByText(word)).toBeVisible();
  });

  test.each([
    [null, 'Never'],
    ['2026-07-15T12:50:00.000Z', 'in 50 minutes'],
    ['2026-07-16T18:00:00.000Z', 'in 30 hours'],
    ['2026-07-15T09:00:00.000Z', '3 hours ago'],
    ['2026-09-01T10:00:00.000Z', 'Sep 1, 2026'],
  ])('expires %s: %s', (expires_at, words) => {
    showKeys({ expires_at, last_used_at: now });
    expect(within(row('CI')).getByText(words)).toBeVisible();
  });
});

test('a budget says what is spent of it, and none says so', () => {
  showKeys([
    { id: 'key_1', name: 'web', budget: { limit: '5', period: 'week' }, spent: '4.1' },
    { id: 'key_2', name: 'batch', spent: '0.25' },
  ]);
  expect(within(row('web')).getByText('$4.10 of $5.00 a week')).toBeVisible();
  expect(within(row('batch')).getByText('$0.25, no budget')).toBeVisible();
});

test('a key without a name is named by its id, and its models are listed', () => {
  showKeys({ name: null, models: ['qwen/*', 'demo/chat'] });
  expect(row('key_1')).toHaveTextContent('qwen/*, demo/chat');
});

describe('the actions on a key', () => {
  test('are chosen in a menu, by the keyboard alone, and the focus returns', async () => {
    const { reader, onChoose, all } = showKeys({});
    const button = screen.getByRole('button', { name: 'Actions on CI' });
    button.focus();
    await reader.keyboard('{Enter}');
    const items = () => screen.getAllByRole('menuitem');
    expect(items().map(({ textContent }) => textContent)).toEqual(['Edit', 'Rotate', 'Suspend', 'Revoke']);
    expect(items()[0]).toHaveFocus();
    await reader.keyboard('{ArrowDown}');
    expect(items()[1]).toHaveFocus();
    await reader.keyboard('{Escape}');
    expect(screen.queryByRole('menu')).toBeNull();
    await expect.poll(() => document.activeElement).toBe(button);
    expect(onChoose).not.toHaveBeenCalled();

    await reader.keyboard('{Enter}{ArrowDown}{ArrowDown}{Enter}');
    expect(onChoose.mock.calls).toEqual([['suspend', all[0]]]);
  });

  test('have resume in place of suspend for a suspended key', async () => {
    const { reader } = showKeys({ status: 'suspended' });
    await reader.click(screen.getByRole('button', { name: 'Actions on CI' }));
    expect(screen.getByRole('menuitem', { name: 'Resume' })).toBeVisible();
    expect(screen.queryByRole('menuitem', { name: 'Suspend' })).toBeNull();
  });

  const identity = { id: 'identity_1', name: 'search', subject: 'ci' };

  test('of the account of an identity are those that the server takes, and its limits are those of the identity', async () => {
    const { reader } = showKeys({ name: 'search: ci', prefix: null, identity });
    await reader.click(screen.getByRole('button', { name: 'Actions on search: ci' }));
    expect(screen.getAllByRole('menuitem').map(({ textContent }) => textContent)).toEqual(['Suspend', 'Revoke']);
  });

  test.each([
    ['an admin', adminSession, ['/identities?identity=identity_1']],
    ['an admin while identities are off', { ...adminSession, identities: false }, []],
    ['a viewer, who has no such page,', viewerSession, []],
  ])('stand beside the identity, which is a link for %s', (_, as, links) => {
    showKeys({ name: 'search: ci', prefix: null, identity }, as);
    expect(row('search: ci')).toHaveTextContent('Identity search');
    expect(screen.queryAllByRole('link').map((link) => link.getAttribute('href'))).toEqual(links);
  });

  const object = { kind: 'ApiKey', namespace: 'web', name: 'ci' } as const;
  test.each([
    ['is revoked', { status: 'revoked' }, 0],
    ['belongs to another person', { may_change: false }, 0],
    ['is managed by an object in Git', { declared_by: { ...object, locked: true } }, 0],
    ['was declared by an object that is gone', { declared_by: { ...object, locked: false } }, 1],
  ] as const)('of a key that %s', (_, given, menus) => {
    showKeys(given);
    expect(screen.queryAllByRole('button', { name: 'Actions on CI' })).toHaveLength(menus);
  });

  test.each([
    [true, 'Managed by ApiKey web/ci'],
    [false, 'Declared by ApiKey web/ci'],
  ])('of a key with an object (locked: %s) stand beside the name of the object', (locked, words) => {
    showKeys({ declared_by: { ...object, locked } });
    expect(within(row('CI')).getByText(words)).toBeVisible();
  });
});

test('a long list has every key, each with a menu of its own', () => {
  showKeys(Array.from({ length: 200 }, (_, at) => ({ id: `key_${at}`, name: `job ${at}` })));
  const buttons = screen.getAllByRole('button').map((button) => button.getAttribute('aria-label'));
  expect(buttons).toEqual(Array.from({ length: 200 }, (_, at) => `Actions on job ${at}`));
});
