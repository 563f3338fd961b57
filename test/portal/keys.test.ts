// Keys as the people of a workspace work with them: finding one among many, its limits, its rotation.
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject, KeyObject } from '../../src/portal/api/keys.ts';
import { chat } from '../support/start.ts';
import * as tabs from './support/browser.ts';
import { adminApi } from './support/admin-api.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'key-team', credit: '5' });
for (let count = 0; count < 60; count += 1)
  await adminApi('POST', '/workspaces/key-team/keys', { name: `service ${count}` });

async function call(key: string): Promise<number> {
  const answer = await chat({ ...gateway, key }, {});
  await answer.text();
  return answer.status;
}

test('a key is rotated without a failed call: both work, and the old one expires after the hours chosen', async () => {
  const old = await adminApi<CreatedKeyObject>('POST', '/workspaces/key-team/keys', {
    name: 'checkout',
    rate: 7,
    burst: 9,
  });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=key-team&search=checkout');
  expect(await call(old.key)).toBe(200);
  await tabs.chooseAction(page, 'checkout', 'Rotate');
  await page.getByLabel('Hours until this key expires').fill('2');
  await tabs.expectAccessible(page);
  await page.keyboard.press('Enter');
  const field = page.getByLabel('API key', { exact: true });
  await field.waitFor();
  const text = await field.inputValue();
  expect(await page.content()).not.toContain(text);
  expect([await call(old.key), await call(text)]).toEqual([200, 200]);
  const rows = page.getByRole('region', { name: 'Keys' }).getByRole('row');
  await expect.poll(() => rows.count()).toBe(3);
  const shown = await rows.allInnerTexts();
  expect(shown[1]).toMatch(/7 a second\s+9 at once[^]*by admin token[^]*/);
  expect(shown[2]).toMatch(/in (119|120) minutes|in [12] hours/);
  const { expires_at: expires } = await adminApi<KeyObject>('GET', `/keys/${old.id}`);
  expect(Math.abs(Date.parse(expires ?? '') - Date.now() - 2 * 3_600_000)).toBeLessThan(60_000);
  expectQuiet();
  await page.context().close();
});

test('one key among many is found by its name, and all are reached page by page', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=key-team');
  const rows = page.getByRole('region', { name: 'Keys' }).getByRole('row');
  await expect.poll(() => rows.count()).toBe(51);
  await page.getByRole('button', { name: 'Show more' }).press('Enter');
  await expect.poll(() => rows.count()).toBeGreaterThan(60);
  await page.getByLabel('Search keys').fill('SERVICE 57');
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count()).toBe(2);
  expect(new URL(page.url()).searchParams.get('search')).toBe('SERVICE 57');
  await page.getByLabel('Search keys').fill('no such key');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No key found' }).waitFor();
  expectQuiet();
  await page.context().close();
});

test('limits are changed alone, and nothing else is sent', async () => {
  const { id } = await adminApi<CreatedKeyObject>('POST', '/workspaces/key-team/keys', { name: 'limited' });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=key-team&search=limited');
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON());
  });
  await tabs.chooseAction(page, 'limited', 'Edit');
  await page.getByLabel('Requests a second').fill('3');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(sent).toEqual([{ rate: 3 }]);
  expect(await adminApi<KeyObject>('GET', `/keys/${id}`)).toMatchObject({ rate: 3, burst: 200 });
  expectQuiet();
  await page.context().close();
});

test('the thresholds of a budget are changed alone, and a bad one is refused at its field', async () => {
  const { id } = await adminApi<CreatedKeyObject>('POST', '/workspaces/key-team/keys', { name: 'watched' });
  const path = '/keys?workspace=key-team&search=watched';
  const { page, expectQuiet } = await tabs.openSignedIn(browser, path, { expected: [400] });
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON());
  });
  await tabs.chooseAction(page, 'watched', 'Edit');
  const field = page.getByLabel('Alerts at (% of the budget)');
  expect(await field.inputValue()).toBe('50, 80, 95');
  await field.fill('101');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/thresholds/).waitFor();
  await field.fill('90, 25');
  await tabs.expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(sent).toEqual([{ thresholds: [101] }, { thresholds: [90, 25] }]);
  expect(await adminApi<KeyObject>('GET', `/keys/${id}`)).toMatchObject({ thresholds: [25, 90] });
  expectQuiet();
  await page.context().close();
});

test('all columns and actions are in view, 1280 pixels wide', async () => {
  await adminApi('POST', '/workspaces/key-team/keys', {
    ...{ name: 'with the widest settings', rate: 1_000, burst: 2_000 },
    ...{
      budget: { limit: '1234.5', period: 'month' },
      expires_at: new Date(Date.now() + 30 * 3_600_000).toISOString(),
    },
  });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=key-team');
  const table = page.getByRole('region', { name: 'Keys' });
  await table.getByText('2,000 at once').waitFor();
  const hidden = 'document.querySelector(".scroll").scrollWidth - document.querySelector(".scroll").clientWidth';
  await expect.poll(() => page.evaluate(hidden)).toBe(0);
  expect(await page.getByText('Scroll sideways to see all columns.').count()).toBe(0);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'keys-widest-1280');
  expectQuiet();
  await page.context().close();
});

test('on a phone the actions on a key are a menu that is in view, in light and dark', async () => {
  await adminApi('POST', '/workspaces/key-team/keys', { name: 'on the phone' });
  const path = '/keys?workspace=key-team&search=on%20the%20phone';
  const { page, expectQuiet } = await tabs.openSignedIn(browser, path, { width: 390 });
  const button = page.getByRole('button', { name: 'Actions on on the phone' });
  await button.waitFor();
  const box = await button.boundingBox();
  expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  await tabs.expectNoOverflow(page);
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await tabs.expectAccessible(page);
    await button.press('Enter');
    await page.getByRole('menuitem', { name: 'Rotate' }).waitFor();
    await tabs.expectAccessible(page);
    await tabs.screenshot(page, `key-menu-390-${scheme}`);
    await page.keyboard.press('Escape');
  }
  await button.press('Enter');
  await page.getByRole('menuitem', { name: 'Suspend' }).press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('Suspended').waitFor();
  expectQuiet();
  await page.context().close();
});

test('a key that an object declares has no actions', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=demo');
  // No API server is here, so the answer says that an object declares the key.
  await page.route('**/api/v1/workspaces/*/keys*', async (route) => {
    const response = await route.fetch();
    const { data, ...rest } = (await response.json()) as { readonly data: readonly KeyObject[] };
    const declared_by = { kind: 'ApiKey', namespace: 'team', name: 'ci', locked: true } as const;
    await route.fulfill({ response, json: { ...rest, data: data.map((one) => ({ ...one, declared_by })) } });
  });
  const rows = page.getByRole('region', { name: 'Keys' }).getByRole('row');
  expect(await rows.getByRole('button').count()).toBeGreaterThan(0);
  await page.reload();
  await page.getByText('Managed by ApiKey team/ci').first().waitFor();
  expect(await rows.getByRole('button').count()).toBe(0);
  expectQuiet();
  await page.context().close();
});

test('the list of requests is narrowed to any of many keys, which is searched by its name, by keyboard', async () => {
  const made = await adminApi<CreatedKeyObject>('POST', '/workspaces/key-team/keys', { name: 'called once' });
  expect(await call(made.key)).toBe(200);
  // Newer keys fill the first page of the list of keys.
  for (let count = 0; count < 50; count += 1)
    await adminApi('POST', '/workspaces/key-team/keys', { name: `newer ${count}` });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/requests?workspace=key-team');
  const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row');
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  const field = page.getByLabel('Search requests');
  await field.focus();
  await page.keyboard.type('CALLED');
  await expect.poll(() => page.getByRole('option').allInnerTexts()).toEqual(['Id: CALLED', 'Key: called once']);
  await tabs.expectAccessible(page, tabs.besideSuggestions);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).searchParams.get('key')).toBe(made.id);
  await expect.poll(() => rows.count()).toBe(2);
  const chip = page.getByRole('button', { name: 'Remove Key: called once' });
  await chip.waitFor();
  // The next Tab goes on from here.
  await expect.poll(() => field.evaluate((own) => own === own.ownerDocument.activeElement)).toBe(true);
  await page.reload();
  await chip.waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await tabs.expectNoOverflow(page);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'request-key-390');
  await chip.click();
  await expect.poll(() => new URL(page.url()).searchParams.get('key')).toBeNull();
  expectQuiet();
  await page.context().close();
});
