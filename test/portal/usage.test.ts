// What was spent, by whom, and how it changed.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { UsageReportObject } from '../../src/portal/api/usage.ts';
import { formatUsd, parseUsd } from '../../src/core/money.ts';
import { chat } from '../support/start.ts';
import * as tabs from './support/browser.ts';
import { adminApi } from './support/admin-api.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'usage-team', credit: '5' });
const { key } = await adminApi<CreatedKeyObject>('POST', '/workspaces/usage-team/keys', {
  name: 'of the usage team',
});
for (const of of [gateway.key, key, key]) {
  const answer = await chat({ ...gateway, key: of }, { content: 'How much?' });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}

/** Cells of a file without quoted fields. */
async function downloaded(page: Page, button: string): Promise<readonly (readonly string[])[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  return readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
}

test("this month's cost by workspace is a file whose sum is that of the ledger", async () => {
  const now = new Date();
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString();
  // Other tests spend at the same time, so the sum of the file is between the one before and one after.
  const spent = async (): Promise<bigint> =>
    parseUsd((await adminApi<UsageReportObject>('GET', `/usage?from=${from}`)).data[0]?.cost ?? '') ?? 0n;
  const before = await spent();
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/usage');
  await page.getByLabel('Time', { exact: true }).selectOption('This month');
  await page.getByRole('radio', { name: 'By workspace' }).check({ force: true });
  const table = page.getByRole('region', { name: 'Usage by workspace' });
  await table.getByRole('row').filter({ hasText: 'usage-team' }).waitFor();
  expect(new URL(page.url()).search).toBe('?range=month&by=workspace');
  const [head = [], ...lines] = await downloaded(page, 'Download workspaces as CSV');
  const [name, cost] = [head.indexOf('workspace'), head.indexOf('cost')];
  const names = lines.map((line) => line[name]);
  expect(names).toEqual(expect.arrayContaining(['demo', 'usage-team']));
  expect(await table.getByRole('rowheader').allInnerTexts()).toEqual(expect.arrayContaining(names));

  const sum = lines.reduce((total, line) => total + (parseUsd(line[cost] ?? '') ?? 0n), 0n);
  expect(sum >= before).toBe(true);
  await expect.poll(async () => (await spent()) >= sum).toBe(true);
  const listed = await fetch(`${gateway.portal}/api/v1/requests?from=${from}&workspace=usage-team`, {
    headers: { authorization: `Bearer ${gateway.token}`, accept: 'text/csv' },
  });
  const [titles = '', ...requests] = (await listed.text()).trim().split('\n');
  const at = titles.split(',').indexOf('cost');
  const single = requests.reduce((total, line) => total + (parseUsd(line.split(',')[at] ?? '') ?? 0n), 0n);
  expect(formatUsd(single)).toBe(lines.find((line) => line[name] === 'usage-team')?.[cost]);
  expectQuiet();
  await page.context().close();
});

test('totals have their change against the time before, and keys have their names and workspaces', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/usage?range=24h&by=key&workspace=usage-team');
  await page.getByLabel('Requests', { exact: true }).waitFor();
  const figure = page.getByRole('region', { name: 'Requests', exact: true });
  await expect.poll(() => figure.innerText()).toMatch(/^Requests\s+2\s+none before$/);
  const row = page
    .getByRole('region', { name: 'Usage by key' })
    .getByRole('row')
    .filter({ hasText: 'of the usage team' });
  expect(await row.innerText()).toContain('usage-team');
  await row.getByRole('link', { name: 'of the usage team' }).click();
  expect(await tabs.heading(page)).toBe('Requests');
  await expect.poll(() => page.getByRole('region', { name: 'Requests' }).getByRole('row').count()).toBe(3);
  expectQuiet();
  await page.context().close();
});

test('the cost of each team is read by tag, with what had no tag, and adds up to the workspace', async () => {
  await adminApi('POST', '/workspaces', { name: 'tag-team', credit: '5' });
  const { key } = await adminApi<CreatedKeyObject>('POST', '/workspaces/tag-team/keys', {});
  for (const tags of ['team=search', 'team=search,app=crawler', 'team=ads', undefined]) {
    const answer = await chat({ ...gateway, key }, { content: 'How much?', ...(tags !== undefined && { tags }) });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/usage?range=24h&workspace=tag-team');
  await page.getByRole('radio', { name: 'By tag' }).check({ force: true });
  await page.getByLabel('Tag', { exact: true }).selectOption('team');
  const table = page.getByRole('region', { name: 'Usage by tag' });
  const names = () => table.getByRole('rowheader').allInnerTexts();
  await expect.poll(async () => (await names()).toSorted()).toEqual(['Without this tag', 'ads', 'search']);
  // Tags are counted by days.
  expect(await page.getByLabel('Time', { exact: true }).inputValue()).toBe('7d');
  const [head = [], ...lines] = await downloaded(page, 'Download values as CSV');
  const [value, cost] = [head.indexOf('tag'), head.indexOf('cost')];
  expect(lines.map((line) => line[value] ?? '').toSorted()).toEqual(['', 'ads', 'search']);
  const sum = lines.reduce((total, line) => total + (parseUsd(line[cost] ?? '') ?? 0n), 0n);
  const all = await adminApi<UsageReportObject>('GET', '/usage?workspace=tag-team');
  expect(formatUsd(sum)).toBe(all.data[0]?.cost);
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});

test('the table is sorted by the keyboard, and says so', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/usage?range=24h&by=workspace');
  const table = page.getByRole('region', { name: 'Usage by workspace' });
  const names = () => table.getByRole('rowheader').allInnerTexts();
  await table.getByRole('row').filter({ hasText: 'usage-team' }).waitFor();
  await table.getByRole('button', { name: 'Workspace' }).press('Enter');
  const sorted = (await names()).toSorted((one, other) => (one < other ? -1 : 1));
  expect(await names()).toEqual(sorted);
  expect(await table.getByRole('columnheader', { name: 'Workspace' }).getAttribute('aria-sort')).toBe('ascending');
  await table.getByRole('button', { name: 'Workspace' }).press('Enter');
  expect(await names()).toEqual(sorted.toReversed());
  await table.getByRole('button', { name: 'Cost' }).press('Enter');
  expect(await table.getByRole('columnheader', { name: 'Cost' }).getAttribute('aria-sort')).toBe('descending');
  expectQuiet();
  await page.context().close();
});

for (const width of [1280, 390] as const) {
  test(`days are chosen, many of them as weeks, in light and dark, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await tabs.openSignedIn(browser, '/usage?range=custom', { width });
    await page.getByLabel('First day').fill('2026-01-01');
    await page.getByLabel('First day').press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('first')).toBe('2026-01-01');
    await tabs.heading(page);
    await page.locator('canvas').first().waitFor();
    await page.getByText('Cost as a table').click();
    const rows = page.getByRole('region', { name: 'Cost over time' }).getByRole('rowheader');
    // 29 December 2025 is the Monday of the week of the first of January.
    await expect.poll(async () => (await rows.allInnerTexts()).slice(0, 2)).toEqual(['29 Dec', '5 Jan']);
    await tabs.expectNoOverflow(page);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `usage-weeks-${width}-${scheme}`);
    }
    expectQuiet();
    await page.context().close();
  });
}
