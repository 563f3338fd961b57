// A walk: a team lead closes a month, with its statement on paper and as a file.
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { formatUsd, parseUsd } from '../../src/core/money.ts';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { StatementObject } from '../../src/portal/api/statements.ts';
import { forFile } from '../support/for-file.ts';
import { chat } from '../support/start.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { signInAs } from './support/people.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'closing-team', credit: '5' });
for (const [name, calls] of [
  ['notebooks', 2],
  ['crawler', 1],
] as const) {
  const { key } = await adminApi<CreatedKeyObject>('POST', '/workspaces/closing-team/keys', { name });
  for (let call = 0; call < calls; call += 1) {
    const answer = await chat({ ...gateway, key }, { content: 'What did it cost?' });
    if (answer.status !== 200) throw new Error(await answer.text());
    await answer.text();
  }
}

const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Pages of a PDF of Chromium, which compresses their content and not their objects. */
const pagesOf = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;

test('a team lead closes a month: who spent what, the statement, its paper and its file', async () => {
  const month = monthName.format(new Date());
  const { page, expectQuiet } = await tabs.openTab(browser);
  await signInAs(page.context(), { address: 'lead@closing.example.com', groups: { 'closing-team': 'owner' } });
  await page.goto('/usage');

  // Who spent what: the table comes first, and adds up.
  await page.getByLabel('Time', { exact: true }).selectOption('This month');
  await page.getByRole('radio', { name: 'By key' }).check({ force: true });
  await page.getByRole('heading', { level: 2, name: `${month} by key` }).waitFor();
  const table = page.getByRole('table', { name: 'Usage by key' });
  await table.getByRole('row').filter({ hasText: 'notebooks' }).waitFor();
  expect(await table.getByRole('columnheader').allInnerTexts()).toEqual(
    expect.arrayContaining(['Share', 'Same days before', 'Change']),
  );
  const total = await table.getByRole('row').last().getByRole('cell').allInnerTexts();
  expect(total).toContain('100%');
  expect(await page.locator('main h2').first().innerText()).toBe(`${month} by key`);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'close-month-usage');

  // The statement says the same to the last unit.
  await page.getByRole('link', { name: 'Statement of closing-team' }).click();
  expect(await tabs.heading(page)).toBe(`Statement for ${month}`);
  const account = page.getByRole('table', { name: 'Account' });
  await account.waitFor();
  const made = await adminApi<StatementObject>(
    'GET',
    `/workspaces/closing-team/statements/${new Date().toISOString().slice(0, 7)}`,
  );
  expect(Number((await account.innerText()).split('$').at(-1))).toBe(Number(made.closing_balance));
  await tabs.expectAccessible(page);

  // On paper.
  const pdf = await page.pdf({ format: 'A4' });
  expect(pagesOf(pdf)).toBe(1);
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 794, height: 1_123 });
  await tabs.expectNoOverflow(page);
  await tabs.screenshot(page, 'close-month-paper');
  await page.emulateMedia({ media: null });

  // As a file, whose amounts add up to the closing balance.
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`statement-closing-team-${made.month}.csv`);
  const [head = '', ...lines] = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  const [line, amount] = [head.split(',').indexOf('line'), head.split(',').indexOf('amount')];
  const amounts = lines
    .map((text) => text.split(','))
    .map((cells) => [cells[line], parseUsd(cells[amount] ?? '') ?? 0n]);
  const closing = amounts.findIndex(([kind]) => kind === 'closing-balance');
  const sum = amounts.slice(0, closing).reduce((before, [, usd]) => before + (usd as bigint), 0n);
  expect(formatUsd(sum)).toBe(made.closing_balance);
  expect(amounts[closing]?.[1]).toBe(sum);
  expectQuiet();
  await page.context().close();
});
