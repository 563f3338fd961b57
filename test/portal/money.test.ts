// Money and its changes: what is left, when it runs out, and who changed what.
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { StatementObject } from '../../src/portal/api/statements.ts';
import { chat } from '../support/start.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'money-team', credit: '5.999' });
await adminApi('POST', '/workspaces', { name: 'no-credit' });
const key = await adminApi<CreatedKeyObject>('POST', '/workspaces/money-team/keys', { name: 'of the money team' });

test('the balance is never rounded up, and says when it runs out', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/balance?workspace=money-team');
  const figure = (name: string) => page.getByLabel(name, { exact: true });
  await expect.poll(() => figure('Balance of money-team').innerText()).toContain('$5.99');
  expect(await figure('Balance of money-team').innerText()).toContain('exactly $5.999');
  expect(await figure('Runs out').innerText()).toContain('nothing was spent in 30 days');
  const answer = await chat({ ...gateway, key: key.key }, { content: 'What does it cost?' });
  await answer.text();
  await page.reload();
  // A cent in a month: the balance lasts for longer than anybody plans.
  await expect.poll(() => figure('Runs out').innerText()).toMatch(/in over 10 years|in [\d,]+ days/);
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});

for (const width of [1280, 390] as const) {
  test(`the statement of a month is found on the balance, adds up, and is printed without the shell, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await tabs.openSignedIn(browser, '/balance?workspace=money-team', { width });
    await page.getByRole('link', { name: 'Monthly statements' }).click();
    const account = page.getByRole('table', { name: 'Account' });
    await expect.poll(() => account.innerText()).toMatch(/Credits\s+\$5\.999/);
    const month = new Date().toISOString().slice(0, 7);
    const made = await adminApi<StatementObject>('GET', `/workspaces/money-team/statements/${month}`);
    const closing = (await account.innerText()).split('$').at(-1);
    expect(Number(closing)).toBe(Number(made.closing_balance));
    await tabs.expectNoOverflow(page);
    await tabs.expectAccessible(page);
    // A4 at 96 dots per inch.
    await page.setViewportSize({ width: 794, height: 1_123 });
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await account.isVisible()).toBe(true);
    await tabs.expectNoOverflow(page);
    await tabs.screenshot(page, `statement-paper-${width}`);
    expectQuiet();
    await page.context().close();
  });
}

test('a workspace without credit says what its calls get', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/balance?workspace=no-credit', { width: 390 });
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('Calls with keys of no-credit get HTTP 402');
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});

test('an admin sets at which percentages of the balance there is an alert', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/balance?workspace=money-team', { expected: [400] });
  await expect.poll(() => page.getByText('There is an alert when').innerText()).toContain('50 %, 80 %, or 95 %');
  await page.getByRole('button', { name: 'Change thresholds' }).press('Enter');
  const field = page.getByLabel('Percentages of the balance');
  await field.fill('90, many');
  await page.keyboard.press('Enter');
  await page.getByText(/percents/).waitFor();
  await field.fill('90, 25');
  await tabs.expectAccessible(page);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByText('There is an alert when').innerText()).toContain('25 % or 90 %');
  expectQuiet();
  await page.context().close();
});

test('a change is found by its action, read in words, and downloaded', async () => {
  await adminApi('PATCH', `/keys/${key.id}`, { budget: { limit: '5', period: 'week' } });
  await adminApi('PATCH', `/keys/${key.id}`, { budget: null });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/audit?workspace=money-team');
  const table = page.getByRole('region', { name: 'Audit log' });
  const rows = table.getByRole('row');
  await tabs.filter(page, (sheet) => sheet.getByLabel('Action').selectOption('key.budget'));
  await expect.poll(() => rows.count()).toBe(3);
  const shown = await rows.allInnerTexts();
  expect(shown[1]).toContain('Key of the money team was changed: budget none, was $5.00 a week.');
  expect(shown[2]).toContain('Key of the money team was changed: budget $5.00 a week, was none.');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe('id,at,actor_kind,actor,action,object,workspace,before,after');
  expect(lines[1]).toContain(`,key.budget,${key.id},money-team,`);

  // The name leads to all changes of the key, and the author to all of theirs.
  await page.getByRole('button', { name: 'Remove Action: key.budget' }).click();
  await rows.nth(1).getByRole('link', { name: 'of the money team' }).press('Enter');
  expect(new URL(page.url()).searchParams.get('object')).toBe(key.id);
  await expect.poll(() => rows.count()).toBe(4);
  await rows.nth(1).getByRole('link', { name: 'admin token', exact: true }).press('Enter');
  await expect.poll(() => new URL(page.url()).searchParams.get('actor')).not.toBeNull();
  await page.getByLabel('Search changes').fill('a stranger');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No such changes' }).waitFor();
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});
