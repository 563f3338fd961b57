// What a form shows is not what it sends: a field goes out only where somebody changed it.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { CreatedKeyObject, KeyObject } from '../../src/portal/api/keys.ts';
import type { WorkspaceObject } from '../../src/portal/api/workspaces.ts';
import { chooseAction, expectAccessible, heading, launchBrowser, openSignedIn } from './support/browser.ts';
import { adminApi } from './support/admin-api.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(launchBrowser());

const makeKey = (body: object): Promise<CreatedKeyObject> => adminApi('POST', '/workspaces/demo/keys', body);
const keyNow = ({ id }: KeyObject): Promise<KeyObject> => adminApi('GET', `/keys/${id}`);

/** A moment so many hours from now, with seconds that no field of a form shows. */
const inHours = (hours: number): string =>
  `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 17)}37.123Z`;

async function openKeys() {
  const tab = await openSignedIn(browser, '/keys?workspace=demo');
  /** Bodies of the changes that the page has asked for. */
  const sent: unknown[] = [];
  tab.page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON());
  });
  return { ...tab, sent };
}

async function edit(page: Page, name: string): Promise<void> {
  await chooseAction(page, name, 'Edit');
  await page.getByLabel('Expires').waitFor();
}
async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

test('a key of an hour stays one when its name is changed', async () => {
  const expires = inHours(1);
  const key = await makeKey({ name: 'short lease', expires_at: expires, budget: { limit: '5', period: 'week' } });
  const { page, sent, expectQuiet } = await openKeys();
  const row = page.getByRole('row').filter({ hasText: 'lease' });
  // The list says how near the expiry is, and its title says when that is, and in which zone.
  expect(await row.locator('time[datetime^="20"]').last().innerText()).toMatch(/^in (5\d|60) minutes$/);
  expect(await row.locator('time').last().getAttribute('title')).toMatch(/ \d{1,2}:\d\d:37 (CET|CEST|GMT\+[12])$/);
  await edit(page, 'short lease');
  await page.getByLabel('Name').fill('long lease');
  await save(page);
  expect(sent).toEqual([{ name: 'long lease' }]);
  expect(await keyNow(key)).toMatchObject({
    ...{ name: 'long lease', expires_at: expires },
    budget: { limit: '5', period: 'week' },
  });

  // The twin: all that a form of days shows, sent as if it had been meant, makes a day of the hour and takes another admin's change back.
  const shown = await keyNow(key);
  await adminApi('PATCH', `/keys/${key.id}`, { budget: { limit: '50', period: 'week' } });
  const endOfDay = `${expires.slice(0, 10)}T23:59:59.999Z`;
  await adminApi('PATCH', `/keys/${key.id}`, { name: 'short lease', budget: shown.budget, expires_at: endOfDay });
  expect(await keyNow(key)).toMatchObject({ expires_at: endOfDay, budget: { limit: '5' } });
  expectQuiet();
  await page.context().close();
});

test('each field alone is sent when it is changed, nothing when none is, and what others change meanwhile stays', async () => {
  const expires = inHours(30);
  const key = await makeKey({ name: 'fields', expires_at: expires, models: ['demo/chat', 'qwen/*'] });
  const { page, sent, expectQuiet } = await openKeys();
  const row = page.getByRole('row').filter({ hasText: 'fields' });
  expect(await row.locator('time').last().innerText()).toMatch(/^in (29|30) hours$/);
  await edit(page, 'fields');
  await save(page);
  expect(sent).toEqual([]);

  await edit(page, 'fields');
  // Somebody else changes the models while the form is open.
  await adminApi('PATCH', `/keys/${key.id}`, { models: ['demo/mini'] });
  await page.getByLabel('Budget (USD)').fill('7.5');
  await save(page);
  expect(sent.splice(0)).toEqual([{ budget: { limit: '7.5', period: 'month' } }]);
  expect(await keyNow(key)).toMatchObject({ models: ['demo/mini'], expires_at: expires, budget: { limit: '7.5' } });

  await page.reload();
  await heading(page);
  await edit(page, 'fields');
  await page.getByLabel('Period').selectOption('Day');
  await save(page);
  expect(sent.splice(0)).toEqual([{ budget: { limit: '7.5', period: 'day' } }]);

  await edit(page, 'fields');
  await page.getByLabel('Models', { exact: true }).fill(' demo/mini,demo/chat ');
  await page.getByLabel('Name').fill('');
  await save(page);
  expect(sent.splice(0)).toEqual([{ name: null, models: ['demo/mini', 'demo/chat'] }]);
  expect(await keyNow(key)).toMatchObject({ name: null, models: ['demo/chat', 'demo/mini'], expires_at: expires });
  expectQuiet();
  await page.context().close();
});

test('an expiry has a time in the zone of the reader, and the form says what that is in UTC', async () => {
  const key = await makeKey({ name: 'zoned', expires_at: inHours(1) });
  const { page, sent, expectQuiet } = await openKeys();
  await edit(page, 'zoned');
  // The tab is in Berlin: one hour before UTC in winter, two in summer.
  await page.getByLabel('Expires').fill('2031-01-15T18:30');
  await page.getByText('In your time zone, Europe/Berlin: 15 Jan 2031, 17:30 UTC').waitFor();
  await page.getByLabel('Expires').fill('2031-07-15T18:30');
  await page.getByText('15 Jul 2031, 16:30 UTC').waitFor();
  await save(page);
  expect(sent.splice(0)).toEqual([{ expires_at: '2031-07-15T16:30:00.000Z' }]);
  const row = page.getByRole('row').filter({ hasText: 'zoned' });
  await expect.poll(() => row.locator('time').last().innerText()).toBe('15 Jul 2031');

  await edit(page, 'zoned');
  expect(await page.getByLabel('Expires').inputValue()).toBe('2031-07-15T18:30');
  await page.getByLabel('Expires').fill('');
  await save(page);
  expect(sent).toEqual([{ expires_at: null }]);
  expect(await keyNow(key)).toMatchObject({ expires_at: null });

  // A moment that is typed in part is no moment, and no "never" either.
  await edit(page, 'zoned');
  await page.getByLabel('Expires').pressSequentially('1501');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect
    .poll(() =>
      page
        .getByLabel('Expires')
        .evaluate((field) => (field as unknown as { validity: { badInput: boolean } }).validity.badInput),
    )
    .toBe(true);
  expect(sent).toHaveLength(1);
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('made here');
  await page.getByLabel('Expires').fill('2031-01-15T18:30');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  const { data } = await adminApi<{ data: readonly KeyObject[] }>('GET', '/workspaces/demo/keys');
  expect(data.find(({ name }) => name === 'made here')).toMatchObject({
    ...{ expires_at: '2031-01-15T17:30:00.000Z', budget: null, models: null },
  });
  expectQuiet();
  await page.context().close();
});

test('the limit of a workspace that was only shown is not sent', async () => {
  const { id, name } = await adminApi<WorkspaceObject>('POST', '/workspaces', { name: 'zz-limit', max_in_flight: 10 });
  const { page, expectQuiet } = await openSignedIn(browser, '/workspaces');
  await page.getByRole('button', { name: `Change the limit of ${name}` }).click();
  await adminApi('PATCH', `/workspaces/${id}`, { max_in_flight: 77 });
  await save(page);
  expect(await adminApi('GET', `/workspaces/${id}`)).toMatchObject({ max_in_flight: 77 });
  expectQuiet();
  await page.context().close();
});

test('limits of tags, labels and limits that only count are set in forms that axe accepts', async () => {
  const { id, name } = await adminApi<WorkspaceObject>('POST', '/workspaces', { name: 'zz-tags', credit: '5' });
  const { page, expectQuiet } = await openSignedIn(browser, '/workspaces');
  await page.getByRole('button', { name: `Change the limit of ${name}` }).click();
  await page.getByLabel('Tokens a minute of tags').fill('team=search: 60000\napp=web: 500');
  await page.getByLabel('Labels').fill('cost-centre=42');
  await page.getByLabel('Tokens of tags').check();
  await expectAccessible(page);
  await save(page);
  expect(await adminApi('GET', `/workspaces/${id}`)).toMatchObject({
    tag_tokens_per_minute: { 'team=search': 60_000, 'app=web': 500 },
    ...{ labels: { 'cost-centre': '42' }, not_enforced: ['tag-tokens'], max_in_flight: 256 },
  });
  const row = page.getByRole('row').filter({ hasText: name });
  await expect.poll(() => row.innerText()).toMatch(/cost-centre=42[^]*Count only: tokens of tags/);

  await page.goto(`/balance?workspace=${name}`);
  await page.getByRole('button', { name: 'Set budget of a tag' }).click();
  await page.getByLabel('Tag', { exact: true }).fill('team=search');
  await page.getByLabel('Budget (USD)').fill('50');
  await expectAccessible(page);
  await save(page);
  await page.getByRole('row').filter({ hasText: 'team=search' }).getByText('$0.00 of $50.00 a month').waitFor();
  await expectAccessible(page);
  const budgets = { data: [{ tag: 'team=search', budget: { limit: '50', period: 'month' } }] };
  expect(await adminApi('GET', `/workspaces/${id}/tag-budgets`)).toMatchObject(budgets);

  const key = await adminApi<CreatedKeyObject>('POST', `/workspaces/${id}/keys`, { name: 'dry' });
  await page.goto(`/keys?workspace=${name}`);
  await edit(page, 'dry');
  await page.getByLabel('Rate').check();
  await expectAccessible(page);
  await save(page);
  expect(await keyNow(key)).toMatchObject({ not_enforced: ['rate'], rate: 100 });
  expectQuiet();
  await page.context().close();
});

test('a new workspace that comes first by name does not become the payer of a form that is open', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/');
  // Only this tab sees them: other tests choose the first workspace, too.
  const made = ['zz-last'];
  await page.route('**/api/v1/workspaces?*', async (route) => {
    const response = await route.fetch();
    const { data, ...rest } = (await response.json()) as { readonly data: readonly WorkspaceObject[] };
    const more = made.flatMap((name) => data.slice(0, 1).map((one) => ({ ...one, id: `ws_${name}`, name })));
    const all = [...data, ...more].toSorted((one, other) => (one.name < other.name ? -1 : 1));
    await route.fulfill({ response, json: { ...rest, data: all } });
  });
  await page.goto('/keys');
  await heading(page);
  const chosen = page.getByLabel('Workspace');
  expect(await chosen.inputValue()).toBe('demo');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('stays with demo');
  made.push('aaa-first');
  // The list is asked for anew when the tab is looked at again, once it is ten seconds old.
  await page.clock.setFixedTime(Date.now() + 60_000);
  const listed = page.waitForResponse((answer) => answer.url().includes('/api/v1/workspaces?'));
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
  await (await listed).finished();
  await expect.poll(() => chosen.locator('option').allInnerTexts()).toContain('aaa-first');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  expect(await chosen.inputValue()).toBe('demo');
  const { data } = await adminApi<{ data: readonly KeyObject[] }>('GET', '/workspaces/demo/keys');
  expect(data.map(({ name }) => name)).toContain('stays with demo');
  expectQuiet();
  await page.context().close();
});

test('the playground asks the model that it shows, also when that one is not listed', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/playground?workspace=demo&model=demo/gone');
  expect(await page.getByLabel('Model').inputValue()).toBe('demo/gone');
  const asked = page.waitForRequest((request) => request.url().includes('/playground/chat'));
  await page.getByLabel('Message').fill('Who answers?');
  await page.getByRole('button', { name: 'Send' }).click();
  expect((await asked).postDataJSON()).toMatchObject({ model: 'demo/gone' });
  await page.getByText('is not in the catalog').waitFor();
  await page.context().close();
  expect(expectQuiet).toThrow('400');
});
