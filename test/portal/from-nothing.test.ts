import { expect, inject, test } from 'vitest';
import { chat } from '../support/start.ts';
import { canary } from '../support/weir.ts';
import { heading, launchBrowser, openSignedIn, openTab } from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(launchBrowser());

const gateway = inject('gateway');

test('the printed address signs in, and the token is in no address, page or storage afterwards', async () => {
  const { page, expectQuiet } = await openTab(browser);
  await page.goto(`/#token=${gateway.token}`);
  expect(await heading(page)).toBe('Overview');
  expect(page.url()).toBe(`${gateway.portal}/`);
  expect(await page.content()).not.toContain(gateway.token);
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')).not.toContain(
    gateway.token,
  );
  await page.reload();
  expect(await heading(page)).toBe('Overview');
  expectQuiet();
  await page.context().close();
});

test('a key that is made by the keyboard alone calls the gateway, and its request and cost appear without reloading', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/keys');
  await page.getByRole('button', { name: 'Create key' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Create key' }).waitFor();
  // The dialog begins in its first field, and Tab goes on to the next.
  await page.keyboard.type('From nothing');
  await page.keyboard.press('Tab');
  await page.keyboard.type('5');
  await page.keyboard.press('Enter');
  const field = page.getByLabel('API key', { exact: true });
  await field.waitFor();
  const isFocused = (): Promise<boolean> => field.evaluate((element) => element.matches(':focus'));
  await expect.poll(isFocused).toBe(true);
  const key = await field.inputValue();
  expect(key).toMatch(/^sk-weir-/);
  await page.getByText('shown this once').waitFor();
  expect(await page.content()).not.toContain(key);

  const requests = await openSignedIn(browser, '/requests');
  const prompt = `Hello! ${canary}`;
  const answer = await chat({ baseUrl: gateway.baseUrl, key }, { content: prompt });
  expect(answer.status).toBe(200);
  const { id, usage } = (await answer.json()) as { readonly id: string; readonly usage: { readonly cost: number } };
  const link = requests.page.locator(`a[href*="${id}"]`);
  await link.waitFor();
  const row = requests.page.getByRole('row').filter({ has: link });
  expect(await row.innerText()).toContain('Completed');
  await link.click();
  const dialog = requests.page.getByRole('dialog', { name: 'Request' });
  await dialog.getByText('First attempt').waitFor();
  expect(
    Number((await dialog.locator('dt', { hasText: 'Cost' }).locator('+ dd').innerText()).replace(/[^\d.]/g, '')),
  ).toBe(usage.cost);

  // Once left, the text of the key is nowhere any more.
  await page.getByRole('button', { name: 'Done' }).press('Enter');
  await expect.poll(() => field.count()).toBe(0);
  const keyRow = page.getByRole('row').filter({ hasText: 'From nothing' });
  expect(await keyRow.innerText()).toContain(key.slice(0, 12));
  for (const tab of [page, requests.page]) {
    const shown = `${await tab.content()} ${String(await tab.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'))}`;
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(canary);
  }
  expectQuiet();
  requests.expectQuiet();
  await page.context().close();
  await requests.page.context().close();
});

test('the first load is at most 300 KB on the wire', async () => {
  const { page } = await openTab(browser);
  const sizes: Promise<number>[] = [];
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).pathname.startsWith('/api/')) return;
    sizes.push(
      request.sizes().then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize),
    );
  });
  await page.goto(`/#token=${gateway.token}`);
  await heading(page);
  // What comes later is no part of it, and may have no size when the page is closed.
  page.removeAllListeners('requestfinished');
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(300 * 1024);
  await page.context().close();
});
