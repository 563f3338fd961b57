import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { chat } from '../support/start.ts';
import {
  chooseAction,
  expectAccessible,
  filter,
  heading,
  launchBrowser,
  openSignedIn,
  openTab,
} from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(launchBrowser());
const answer = await chat(gateway, {});
if (answer.status !== 200) throw new Error(await answer.text());
await answer.text();

test('a key is edited, suspended, resumed and revoked, and the last three ask first', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/keys', { expected: [400] });
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('Short-lived');
  await page.getByLabel('Budget (USD)').fill('12.5');
  await page.getByLabel('Period').selectOption('Week');
  await page.getByRole('button', { name: 'Add demo/chat' }).click();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Short-lived' });
  await expect.poll(() => row.innerText()).toMatch(/demo\/chat[^]*Active[^]*\$0\.00 of \$12\.50 a week[^]*Never/);

  await chooseAction(page, 'Short-lived', 'Edit');
  await page.getByLabel('Budget (USD)').fill('nonsense');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('expected an amount in USD').waitFor();
  await page.getByLabel('Budget (USD)').fill('20');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => row.innerText()).toContain('$20.00 a week');

  for (const [action, state] of [
    ['Suspend', 'Suspended'],
    ['Resume', 'Active'],
    ['Revoke', 'Revoked'],
  ] as const) {
    await chooseAction(page, 'Short-lived', action);
    const question = page.getByRole('alertdialog');
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await row.innerText()).not.toContain(state);
    await chooseAction(page, 'Short-lived', action);
    await question.getByRole('button', { name: action }).click();
    await expect.poll(() => row.innerText()).toContain(state);
  }
  expectQuiet();
  await page.context().close();
});

test('the address holds what is selected of the usage, and the CSV has it', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/usage');
  await page.getByLabel('Time', { exact: true }).selectOption('30 days');
  await page.getByRole('radio', { name: 'By key' }).check({ force: true });
  await expect.poll(() => new URL(page.url()).search).toBe('?range=30d&by=key');
  await page.reload();
  await heading(page);
  expect(await page.getByLabel('Time', { exact: true }).inputValue()).toBe('30d');
  await page.getByRole('region', { name: 'Usage by key' }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const csv = readFileSync(await download.path(), 'utf8');
  expect(csv.split('\n')[0]).toMatch(/day.*key.*requests.*cost/);
  expect(csv.trim().split('\n').length).toBeGreaterThan(1);
  expectQuiet();
  await page.context().close();
});

test('the playground streams an answer with its tokens and cost, stops on demand, and keeps nothing', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/playground');
  await page.getByLabel('Message').fill('What is a weir?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('The answer is complete.').waitFor();
  const fact = (name: string) => page.locator('dt', { hasText: name }).last().locator('+ dd');
  expect(Number(await fact('Output tokens').innerText())).toBeGreaterThan(0);
  expect(await fact('Cost').innerText()).toContain('$');
  await expect.poll(() => fact('Time to first token').innerText()).toMatch(/ms|s$/);

  await page.getByLabel('Message').fill('Tell me about weirs in 20000 words.');
  await page.getByLabel('Message').press('Enter');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped.').waitFor();
  await page.reload();
  await heading(page);
  expect(await page.content()).not.toContain('What is a weir?');
  expectQuiet();
  await page.context().close();
});

test('requests are filtered by outcome, and the address says so', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/requests');
  await page.getByRole('region', { name: 'Requests' }).waitFor();
  await filter(page, (sheet) => sheet.getByLabel('Outcome').selectOption('Failed'));
  await page.getByRole('heading', { name: 'No requests' }).waitFor();
  expect(new URL(page.url()).search).toBe('?outcome=failed');
  await filter(page, (sheet) => sheet.getByLabel('Outcome').selectOption('Completed'));
  await page.getByRole('region', { name: 'Requests' }).waitFor();
  expectQuiet();
  await page.context().close();
});

test('an admin makes a workspace and gives it credit, and both are in the audit log', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/workspaces');
  await page.getByRole('button', { name: 'Create workspace' }).click();
  await page.getByLabel('Name').fill('from-the-portal');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'from-the-portal' }).getByRole('link', { name: '$0.00' }).click();
  expect(await heading(page)).toBe('Balance');
  await page.getByRole('button', { name: 'Add credit' }).click();
  await page.getByLabel('Amount (USD)').fill('25');
  await page.getByLabel('Note').fill('First invoice');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'First invoice' }).waitFor();
  await expect.poll(() => page.getByLabel('Balance of from-the-portal').innerText()).toContain('$25.00');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByRole('row').filter({ hasText: 'from-the-portal' }).first().waitFor();
  expectQuiet();
  await page.context().close();
});

test('an API key signs in, sees its budget, usage, requests and models, and no other page', async () => {
  const { page, expectQuiet } = await openTab(browser, { expected: [401] });
  await page.goto('/keys');
  await page.getByLabel('Admin token or API key').fill('sk-weir-wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.field-error').waitFor();
  await page.getByLabel('Admin token or API key').fill(gateway.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  expect(await page.getByRole('navigation').getByRole('link').allInnerTexts()).toEqual([
    ...['Overview', 'Usage', 'Models', 'Requests'],
  ]);
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('dt', { hasText: 'Budget' }).waitFor();
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByRole('region', { name: 'Usage by model' }).waitFor();
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row');
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  expect(await page.getByRole('combobox', { name: 'Key' }).count()).toBe(0);
  await expectAccessible(page);
  await rows.nth(1).getByRole('link').first().click();
  await page.getByText('First attempt').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByText('demo/chat').first().waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expectQuiet();
  await page.context().close();
});

test('on a phone the menu is shut until it is opened, and what was chosen of the colours stays', async () => {
  const { page, expectQuiet } = await openSignedIn(browser, '/', { width: 390 });
  const link = page.getByRole('link', { name: 'Keys', exact: true });
  expect(await link.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
  await link.click();
  expect(await heading(page)).toBe('Keys');
  expect(await link.isVisible()).toBe(false);
  await page.reload();
  await heading(page);
  expect(await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('color-scheme')")).toBe(
    'dark',
  );
  expectQuiet();
  await page.context().close();
});
