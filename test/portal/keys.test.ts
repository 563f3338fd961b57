// Keys as the people of a workspace work with them: finding one among many, its limits, its rotation.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { CreatedKeyObject, KeyObject } from '../../src/portal/api/keys.ts';
import { chat } from '../support/start.ts';
import * as tabs from './support/browser.ts';
import { adminApi } from './support/admin-api.ts';

const gateway = inject('gateway');
let browser: Browser;

beforeAll(async () => {
  browser = await tabs.launchBrowser();
  await adminApi('POST', '/workspaces', { name: 'key-team', credit: '5' });
  for (let count = 0; count < 60; count += 1)
    await adminApi('POST', '/workspaces/key-team/keys', { name: `service ${count}` });
});
afterAll(() => browser.close());

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
  await page.getByRole('button', { name: 'Rotate checkout' }).press('Enter');
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
  await page.getByRole('button', { name: 'Edit limited' }).click();
  await page.getByLabel('Requests a second').fill('3');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(sent).toEqual([{ rate: 3 }]);
  expect(await adminApi<KeyObject>('GET', `/keys/${id}`)).toMatchObject({ rate: 3, burst: 200 });
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
