// The card of a new key, as a developer uses it who has nothing else.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { RequestObject } from '../../src/portal/api/requests.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { signInAs } from './support/people.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');
const run = promisify(execFile);

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'handed-team', credit: '5' });
await adminApi('POST', '/workspaces', { name: 'poor-team' });

/** Asks a question as Claude Code sets its client up: everything comes from the environment. */
const ask = `import Anthropic from ${JSON.stringify(import.meta.resolve('@anthropic-ai/sdk'))};
const client = new Anthropic();
const answer = await client.messages.create({
  model: process.env.ANTHROPIC_MODEL, max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(JSON.stringify(answer));
`;

async function createKey(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill(name);
  await page.keyboard.press('Enter');
  await page.getByLabel('API key', { exact: true }).waitFor();
}

const codeOf = async (page: Page, name: string): Promise<string> => {
  await page.getByRole('tab', { name }).click();
  return page.getByRole('textbox', { name: new RegExp(`^${name}, `) }).inputValue();
};

test('a developer gets a key, and has an answer as Claude Code gets it by the card alone, within two minutes', async () => {
  const started = Date.now();
  const { page, expectQuiet } = await tabs.openTab(browser);
  await signInAs(page.context(), { address: 'dev@example.com', groups: { 'handed-team': 'member' } });
  await page.goto('/keys');
  await createKey(page, 'laptop');
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  await page.getByLabel('Model', { exact: true }).selectOption('test/able');
  const code = await codeOf(page, 'Claude Code');
  const folder = mkdtempSync(join(tmpdir(), 'weir-card-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ask.mjs'), ask);
  // The last line of the card runs the program.
  const { stdout } = await run('bash', ['-ec', `claude() { "${process.execPath}" ask.mjs; }\n${code}`], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  });
  const answer = JSON.parse(stdout) as { readonly id: string; readonly content: readonly unknown[] };
  expect(answer.content).toMatchObject([{ type: 'text', text: /./ }]);
  expect(Date.now() - started).toBeLessThan(120_000);
  const settled = () => adminApi<{ readonly data: readonly RequestObject[] }>('GET', `/requests?search=${answer.id}`);
  await expect.poll(async () => (await settled()).data.map(({ surface }) => surface)).toEqual(['messages']);
  expect(await page.content()).not.toContain(key);
  expectQuiet();
  await page.context().close();
});

test('the programs of the card run as they are, and the message has what they need', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=handed-team');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await createKey(page, 'copied');
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  const answer = await run('bash', ['-ec', await codeOf(page, 'curl')]);
  expect(JSON.parse(answer.stdout)).toHaveProperty('choices');
  await page.getByRole('button', { name: 'Copy as message' }).click();
  await page.getByText('Copied').first().waitFor();
  const message = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(message).toContain(`Base URL: ${gateway.baseUrl}\nAPI key: ${key}\n`);
  const models = await run('bash', ['-ec', /^curl .*$/m.exec(message)?.[0] ?? 'false']);
  expect(models.stdout).toContain('test/able');
  expectQuiet();
  await page.context().close();
});

for (const width of [1280, 390] as const) {
  test(`a rotated key has the card too, and its test shows the answer and its cost, ${width} pixels wide`, async () => {
    await adminApi('POST', '/workspaces/handed-team/keys', { name: `old ${width}` });
    const { page, expectQuiet } = await tabs.openSignedIn(browser, `/keys?workspace=handed-team&search=old+${width}`, {
      width,
    });
    await tabs.chooseAction(page, `old ${width}`, 'Rotate');
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByRole('button', { name: 'Test it' }).click();
    await page.getByText('The key works.').waitFor();
    expect(await page.locator('dt', { hasText: 'Cost' }).locator('+ dd').innerText()).toMatch(/^\$0\.0\d+$/);
    await page.getByRole('tab', { name: 'Codex' }).click();
    await tabs.expectNoOverflow(page);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `key-card-${width}-${scheme}`);
    }
    expectQuiet();
    await page.context().close();
  });
}

test('the test of a key whose workspace has no balance says so, and what to do', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/keys?workspace=poor-team', { expected: [402] });
  await createKey(page, 'unpaid');
  await page.getByRole('button', { name: 'Test it' }).click();
  await page.getByRole('alert').filter({ hasText: 'Add credit on the page Balance' }).waitFor();
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});
