// A team runs itself: an owner invites people and changes their roles, and a viewer only looks.
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import type { AuditEntryObject } from '../../src/portal/api/audit.ts';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { MemberObject } from '../../src/portal/api/members.ts';
import { runWeir } from '../support/run-weir.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { signInAs } from './support/people.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(tabs.launchBrowser());

interface List<Item> {
  readonly data: readonly Item[];
}

/** A workspace with an owner, a member and a viewer, who were invited. */
async function newTeam(name: string) {
  await adminApi('POST', '/workspaces', { name, credit: '1' });
  const addressOf = (who: string): string => `${who}@${name}.example.com`;
  for (const [who, role] of [
    ['ada', 'owner'],
    ['mia', 'member'],
    ['vic', 'viewer'],
  ] as const)
    await adminApi('POST', `/workspaces/${name}/members`, { address: addressOf(who), role });
  const roles = async (): Promise<Readonly<Record<string, string>>> => {
    const { data } = await adminApi<List<MemberObject>>('GET', `/workspaces/${name}/members`);
    return Object.fromEntries(data.map(({ address, role }) => [address?.split('@')[0] ?? '', role]));
  };
  return { name, addressOf, roles };
}

/** Runs `weir service-account` on the accounts of the gateway. */
async function weir(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runWeir([
    ...['service-account', ...args],
    ...['--json', '--data', inject('gateway').data],
  ]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** A tab in which a person is signed in by an invitation. */
async function openAs(address: string, path: string, options: tabs.OpenOptions = {}) {
  const tab = await tabs.openTab(browser, options);
  await signInAs(tab.page.context(), { address });
  await tab.page.goto(path);
  await tabs.heading(tab.page);
  return tab;
}

const rowOf = (page: Page, address: string) =>
  page
    .getByRole('region', { name: 'Members' })
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: address }) });

test('an owner invites, changes a role and removes, by keyboard, and each change is in the audit trail', async () => {
  const { name, addressOf, roles } = await newTeam('team-owner');
  const { page, expectQuiet } = await openAs(addressOf('ada'), '/members');
  await rowOf(page, addressOf('vic')).getByText('Not signed in yet').waitFor();
  await rowOf(page, addressOf('ada')).getByText('Invited by admin token').waitFor();

  await page.getByRole('button', { name: 'Invite', exact: true }).press('Enter');
  await page.getByLabel('E-mail address').waitFor();
  await tabs.expectAccessible(page);
  // The field has the focus already.
  await page.keyboard.type(`Max@${name}.example.com`);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await rowOf(page, addressOf('max'))
    .getByText(`Invited by ${addressOf('ada')}`)
    .waitFor();
  expect(await roles()).toEqual({ ada: 'owner', max: 'member', mia: 'member', vic: 'viewer' });

  await tabs.chooseAction(page, addressOf('max'), 'Change role');
  const role = page.getByRole('dialog').getByLabel('Role');
  await role.waitFor();
  await tabs.expectAccessible(page);
  await role.selectOption('owner');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await rowOf(page, addressOf('max')).getByText('Owner', { exact: true }).waitFor();

  await tabs.chooseAction(page, addressOf('vic'), 'Remove');
  const question = page.getByRole('alertdialog');
  await question.getByRole('button', { name: 'Remove' }).press('Enter');
  await question.waitFor({ state: 'detached' });
  await expect.poll(() => rowOf(page, addressOf('vic')).count()).toBe(0);
  expect(await roles()).toEqual({ ada: 'owner', max: 'owner', mia: 'member' });

  const { data } = await adminApi<List<AuditEntryObject>>('GET', `/audit?workspace=${name}&actor=${addressOf('ada')}`);
  expect(data.map(({ action, before, after }) => [action, before?.['role'], after['role']])).toEqual([
    ['member.remove', 'viewer', 'none'],
    ['member.role', 'member', 'owner'],
    ['member.invite', undefined, 'member'],
  ]);
  expectQuiet();
  await page.context().close();
});

test('the last owner stays: the page says what to do first', async () => {
  const { addressOf, roles } = await newTeam('team-last');
  const { page, expectQuiet } = await openAs(addressOf('ada'), '/members', { expected: [409] });
  await tabs.chooseAction(page, addressOf('ada'), 'Remove');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('alertdialog').getByText('Make another member an owner first.').waitFor();
  await tabs.expectAccessible(page);
  expect(await roles()).toMatchObject({ ada: 'owner' });
  expectQuiet();
  await page.context().close();
});

test('a viewer sees members and keys, and can change neither, on the page and with its session', async () => {
  const { name, addressOf, roles } = await newTeam('team-viewer');
  await adminApi('POST', `/workspaces/${name}/keys`, { name: 'production' });
  const { page, expectQuiet } = await openAs(addressOf('vic'), '/members', { expected: [403] });
  await rowOf(page, addressOf('mia')).waitFor();
  const main = page.getByRole('main');
  expect(await main.getByRole('button').count()).toBe(0);
  const menu = page.getByRole('navigation', { name: 'Pages' });
  expect(await menu.getByRole('link').allTextContents()).not.toContain('Playground');
  await page.getByText('Viewer', { exact: true }).last().waitFor();
  await page.goto('/keys');
  await page.getByRole('rowheader', { name: 'production' }).waitFor();
  expect(await main.getByRole('button').allTextContents()).toEqual(['Filters']);
  // What the page hides, the server refuses.
  const { csrf_token: csrf } = (await (await page.request.get('/api/v1/session')).json()) as { csrf_token: string };
  const refused = await page.request.post(`/api/v1/workspaces/${name}/members`, {
    data: { address: addressOf('vic'), role: 'owner' },
    headers: { 'x-csrf-token': csrf },
  });
  expect([refused.status(), await refused.text()]).toEqual([
    403,
    expect.stringContaining('This takes the role owner.'),
  ]);
  expect(await roles()).toEqual({ ada: 'owner', mia: 'member', vic: 'viewer' });
  expectQuiet();
  await page.context().close();
});

test('a member changes the keys that it made, and has no button on those of others', async () => {
  const { name, addressOf } = await newTeam('team-member');
  await adminApi<CreatedKeyObject>('POST', `/workspaces/${name}/keys`, { name: 'of-the-owner' });
  const { page, expectQuiet } = await openAs(addressOf('mia'), '/keys');
  await page.getByRole('rowheader', { name: 'of-the-owner' }).waitFor();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('my-notebook');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await tabs.chooseAction(page, 'my-notebook', 'Revoke');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('row', { name: 'my-notebook' }).getByText('Revoked').waitFor();
  expect(await page.getByRole('button', { name: 'Actions on of-the-owner' }).count()).toBe(0);
  expectQuiet();
  await page.context().close();
});

test('whoever is removed is out with the next request', async () => {
  const { name, addressOf } = await newTeam('team-out');
  const { page } = await openAs(addressOf('mia'), '/keys', { expected: [401] });
  const { data } = await adminApi<List<MemberObject>>('GET', `/workspaces/${name}/members`);
  const mia = data.find(({ address }) => address === addressOf('mia'));
  await adminApi('DELETE', `/workspaces/${name}/members/${mia?.id}`);
  await page.reload();
  expect(await tabs.heading(page)).toBe('Sign in');
  await page.context().close();
});

test('whoever came by a group is shown so, and is changed at the identity provider alone', async () => {
  const { name, addressOf } = await newTeam('team-group');
  const { page, expectQuiet } = await tabs.openTab(browser);
  await signInAs(page.context(), { address: addressOf('gil'), groups: { [name]: 'owner' } });
  await page.goto('/members');
  await rowOf(page, addressOf('gil')).getByText('Group of the identity provider').waitFor();
  expect(await rowOf(page, addressOf('gil')).getByRole('button').count()).toBe(0);
  expect(await rowOf(page, addressOf('vic')).getByRole('button').count()).toBe(1);
  expectQuiet();
  await page.context().close();
});

test('the service accounts of a workspace are listed with their scopes, end and last use', async () => {
  const { name, addressOf } = await newTeam('team-scripts');
  const { page, expectQuiet } = await openAs(addressOf('vic'), '/members');
  await page.getByText('No script has a token for this workspace.').waitFor();
  const made = await weir('create', 'chargeback', '--scopes', 'usage:read,keys:write', '--workspaces', name);
  const { token } = JSON.parse(made) as { readonly token: string };
  const usage = async (): Promise<readonly [number, string]> => {
    const answer = await fetch(`${inject('gateway').portal}/api/v1/usage`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return [answer.status, await answer.text()];
  };
  expect((await usage())[0]).toBe(200);
  await page.reload();
  const row = page.getByRole('region', { name: 'Service accounts' }).getByRole('row', { name: 'chargeback' });
  await row.getByText('Active').waitFor();
  expect(await row.innerText()).toMatch(/usage:read, keys:write\tThis one\t(?!Never)/);
  expect(await page.content()).not.toContain(token);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'members-1280-light');
  await weir('revoke', 'chargeback');
  expect(await usage()).toEqual([401, expect.stringContaining('was revoked')]);
  await page.reload();
  await row.getByText('Revoked').waitFor();
  expectQuiet();
  await page.context().close();
});

test('on a phone every action on a member is in a menu in view, in light and dark', async () => {
  const { addressOf, roles } = await newTeam('team-phone');
  const { page, expectQuiet } = await openAs(addressOf('ada'), '/members', { width: 390 });
  const button = page.getByRole('button', { name: `Actions on ${addressOf('vic')}` });
  await button.waitFor();
  const box = await button.boundingBox();
  expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  await tabs.expectNoOverflow(page);
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await tabs.expectAccessible(page);
    await tabs.screenshot(page, `members-390-${scheme}`);
  }
  await button.press('Enter');
  await page.getByRole('menuitem', { name: 'Change role' }).press('Enter');
  await page.getByRole('dialog').getByLabel('Role').selectOption('member');
  await tabs.expectNoOverflow(page);
  await tabs.expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expect.poll(roles).toMatchObject({ vic: 'member' });
  expectQuiet();
  await page.context().close();
});
