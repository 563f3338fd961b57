// Finding one request among many, and why it failed.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import { chat } from '../support/start.ts';
import {
  besideSuggestions,
  expectAccessible,
  expectNoOverflow,
  filter,
  heading,
  launchBrowser,
  openSignedIn,
  screenshot,
} from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const traceId = `trace-${Date.now()}`;

const browser = await forFile(launchBrowser());
const made = await fetch(`${gateway.portal}/api/v1/workspaces/demo/keys`, {
  method: 'POST',
  headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'out of budget', budget: { limit: '0', period: 'day' } }),
});
/** A key whose budget does not suffice for a request. */
const poor = (await made.json()) as CreatedKeyObject;
const answer = await chat(gateway, {});
const answeredId = ((await answer.json()) as { readonly id: string }).id;
const refused = await fetch(`${gateway.baseUrl}/chat/completions`, {
  method: 'POST',
  headers: {
    ...{ authorization: `Bearer ${poor.key}`, 'content-type': 'application/json', 'x-request-id': traceId },
    connection: 'close',
  },
  body: JSON.stringify({ model: 'demo/chat', messages: [{ role: 'user', content: 'Hello!' }] }),
});
if (refused.status !== 402) throw new Error(await refused.text());
await refused.text();

const rows = (page: Page) => page.getByRole('region', { name: 'Requests' }).getByRole('row');

for (const width of [1280, 390] as const) {
  test(`a refused request is found by its x-request-id with the name of its key and the reason, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await openSignedIn(browser, '/requests', { width });
    await filter(page, async (sheet) => {
      await sheet.getByLabel('Outcome').selectOption('Refused');
      await expectAccessible(page);
      await screenshot(page, `filters-${width}`);
    });
    const row = rows(page).filter({ hasText: 'out of budget' });
    await row.first().waitFor();
    if (width === 390) await row.first().getByRole('button', { name: 'More' }).press('Enter');
    expect(await row.first().innerText()).toContain('402, balance or budget used up');

    await page.getByRole('button', { name: 'Remove Outcome: Refused' }).click();
    await filter(page, async (sheet) => {
      await sheet.getByLabel('Search requests').fill(traceId);
      await page.keyboard.press('Enter');
      await page.getByRole('listbox').waitFor({ state: 'detached' });
    });
    await expect.poll(() => rows(page).count()).toBe(2);
    expect(new URL(page.url()).searchParams.get('search')).toBe(traceId);
    await rows(page).getByRole('link').press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Request' });
    await dialog.getByText('What to do:').waitFor();
    expect(await dialog.innerText()).toContain('402, balance or budget used up');
    await dialog.getByRole('button', { name: 'Copy request id' }).waitFor();
    await expectNoOverflow(page);
    await expectAccessible(page);
    await screenshot(page, `request-sheet-${width}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await expectAccessible(page);
      await screenshot(page, `requests-search-${width}-${scheme}`);
    }
    if (width === 390) expect(await page.getByText('Scroll sideways to see all columns.').count()).toBe(0);
    expectQuiet();
    await page.context().close();
  });
}

test('a request is found by its id, and its sheet leads to its key and its backend', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, `/requests?search=${answeredId}`);
  await expect.poll(() => rows(page).count()).toBe(2);
  await rows(page).getByRole('link').click();
  const dialog = page.getByRole('dialog', { name: 'Request' });
  await dialog.getByText('First attempt').waitFor();
  await dialog.getByRole('button', { name: 'Copy x-request-id' }).waitFor();
  expect(await dialog.getByRole('link', { name: /^Backend / }).getAttribute('href')).toMatch(/^\/backends\?backend=/);
  const key = dialog.locator('dt', { hasText: /^Key$/ }).locator('+ dd').getByRole('link');
  expect(await key.getAttribute('href')).toMatch(/^\/keys\?workspace=demo&search=key_/);
  await dialog.getByRole('link', { name: /^Backend / }).click();
  expect(await heading(page)).toBe('Backends');
  await page.locator('tr[data-selected]').waitFor();
  expectQuiet();
  await page.context().close();
});

test('a time without requests is empty, and the address keeps it', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/requests');
  await rows(page).first().waitFor();
  // The tab is in Berlin: an hour before UTC in winter.
  await filter(page, async (sheet) => {
    await sheet.getByLabel('From').fill('2031-01-15T18:30');
    await sheet.getByLabel('To', { exact: true }).focus();
  });
  await page.getByText('No request matches these filters.').waitFor();
  expect(new URL(page.url()).searchParams.get('from')).toBe('2031-01-15T17:30:00.000Z');
  await page.reload();
  await page.getByText('No request matches these filters.').waitFor();
  await filter(page, async (sheet) => expect(await sheet.getByLabel('From').inputValue()).toBe('2031-01-15T18:30'));
  await page.getByRole('button', { name: 'Remove From: 15 Jan 2031, 18:30' }).click();
  await rows(page).first().waitFor();
  expectQuiet();
  await page.context().close();
});

test('requests are narrowed by the search box, by keyboard, also to a surface, and all chips are cleared', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/requests');
  await rows(page).first().waitFor();
  const box = page.getByLabel('Search requests');
  await box.focus();
  await page.keyboard.type('surface: chat');
  await page.getByRole('option', { name: 'Surface: chat', exact: true }).waitFor();
  await expectAccessible(page, besideSuggestions);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).search).toBe('?surface=chat');
  await page.keyboard.type('rerank');
  await page.getByRole('option', { name: 'Surface: rerank', exact: true }).click();
  await page.getByText('No request matches these filters.').waitFor();
  await page.getByRole('button', { name: 'Last hour' }).click();
  await expect.poll(() => new URL(page.url()).search).toMatch(/^\?surface=rerank&from=/);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Clear' }).press('Enter');
  await expect.poll(() => new URL(page.url()).search).toBe('');
  await rows(page).first().waitFor();
  expectQuiet();
  await page.context().close();
});

test('columns are hidden by the keyboard, and stay hidden', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/requests');
  const head = page.getByRole('region', { name: 'Requests' }).getByRole('columnheader');
  await head.first().waitFor();
  expect(await head.allInnerTexts()).toContain('Attempts');
  await page.getByText('Columns', { exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Attempts').focus();
  await page.keyboard.press('Space');
  await expect.poll(() => head.allInnerTexts()).not.toContain('Attempts');
  await expectAccessible(page);
  await page.reload();
  await heading(page);
  await head.first().waitFor();
  expect(await head.allInnerTexts()).not.toContain('Attempts');
  expectQuiet();
  await page.context().close();
});

test('the CSV has the requests of the filters, with names of keys and reasons', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, `/requests?search=${traceId}`);
  await expect.poll(() => rows(page).count()).toBe(2);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const [head = '', ...lines] = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  expect(head).toContain('key_name');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(',refused,');
  expect(lines[0]).toContain('out of budget');
  expect(lines[0]).toContain('402, balance or budget used up');
  expectQuiet();
  await page.context().close();
});
