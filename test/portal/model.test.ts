// The page of one model: how it was priced and how fast it was, and where its requests go.
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { ModelHistoryObject } from '../../src/portal/api/model-history.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');
/** Of the demo, so its prices are there from the start. */
const model = 'demo/mini';

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'model-team', credit: '5' });
const { key } = await adminApi<CreatedKeyObject>('POST', '/workspaces/model-team/keys', {});
const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'for the page of a model' }] }),
});
if (answer.status !== 200) throw new Error(await answer.text());
await answer.text();

/** The request is settled, and the portal has seen the prices. */
async function untilRecorded(): Promise<void> {
  const history = () => adminApi<ModelHistoryObject>('GET', `/models/history?model=${model}`);
  await expect.poll(async () => (await history()).traffic?.length).toBe(1);
  await expect.poll(async () => (await history()).prices.length).toBe(1);
}

const table = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test('the page of a model is opened from the catalog, by keyboard, and shows where its requests go', async () => {
  await untilRecorded();
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/models?find=mini');
  await page.getByRole('link', { name: model, exact: true }).press('Enter');
  await page.getByRole('dialog', { name: model }).getByText('How to call it').waitFor();
  expect(new URL(page.url()).searchParams.get('model')).toBe(model);
  const route = table(page, `Routes of ${model}`).getByRole('row').nth(1);
  await expect
    .poll(() => route.innerText())
    .toMatch(/demo-engine\s+Available\s+100, 100%\s+100%, (1 request|\d+ requests)\s/);
  const endpoint = table(page, `Endpoints of ${model}`).getByRole('row').nth(1);
  await expect.poll(() => endpoint.innerText()).toMatch(/127\.0\.0\.1:\d+\s+demo-engine\s+Gets requests/);
  const prices = table(page, 'Prices over time').getByRole('row').nth(1);
  await expect.poll(() => prices.innerText()).toMatch(/\$0\.02\s+\$\S+\s+\$0\.08$/);
  await page.getByText('Charts appear when there are requests on 3 different days.').waitFor();
  await page.getByText(/: first token after \d+ ms \(median; p95 \d+ ms\)/).waitFor();
  await page.getByRole('link', { name: 'demo-engine' }).first().press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Backends' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Playground' }).last().press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
  await expect.poll(() => page.getByLabel('Model', { exact: true }).inputValue()).toBe(model);
  expectQuiet();
  await page.context().close();
});

test('a model that does not exist is not found', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/models?model=no/model', { expected: [404] });
  await page.getByRole('heading', { name: 'No such model' }).waitFor();
  expectQuiet();
  await page.context().close();
});

/** Thirty days of requests, the last but one slow, and a price that went up. */
async function withHistory(page: Page): Promise<void> {
  await page.route('**/api/v1/models/history?*', async (route) => {
    const response = await route.fetch();
    const history = (await response.json()) as ModelHistoryObject;
    const days = Array.from({ length: 30 }, (_, at) => ({
      day: new Date(Date.now() - (29 - at) * 86_400_000).toISOString().slice(0, 10),
      requests: 100,
      first_token_p50_ms: at === 28 ? 4_321 : 100,
      first_token_p95_ms: 400,
      tokens_per_second: at === 28 ? 7.5 : 60,
    }));
    const [now] = history.prices;
    if (now === undefined) throw new Error('no price');
    const before = { ...now, since: '2026-01-02T10:00:00.000Z', completion: '0.00000006' };
    await route.fulfill({ response, json: { ...history, days, prices: [now, before] } });
  });
}

for (const width of [1280, 390] as const) {
  test(`prices, first token and speed over 30 days are charts with tables, in light and dark, ${width} pixels wide`, async () => {
    await untilRecorded();
    const { page, expectQuiet } = await tabs.openSignedIn(browser, '/models', { width });
    await withHistory(page);
    await page.goto(`/models?model=${model}`);
    await page.locator('canvas').nth(1).waitFor();
    await page.getByText('Time to first token as a table').press('Enter');
    const tokens = table(page, 'Time to first token over time').getByRole('row');
    await expect.poll(() => tokens.count()).toBe(31);
    expect(await tokens.nth(29).innerText()).toMatch(/4\.3 s\s+400 ms/);
    await page.getByText('Output tokens a second as a table').press('Enter');
    const speeds = table(page, 'Output tokens a second over time').getByRole('row');
    await expect.poll(() => speeds.count()).toBe(31);
    expect(await speeds.nth(29).innerText()).toMatch(/\s7\.5$/);
    const prices = table(page, 'Prices over time').getByRole('row');
    const outputs = (await prices.allInnerTexts()).slice(1).map((text) => /\$0\.0[68]/.exec(text)?.[0]);
    expect(outputs).toEqual(['$0.08', '$0.06']);
    await tabs.expectNoOverflow(page);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `model-history-${width}-${scheme}`);
    }
    await page.unrouteAll({ behavior: 'wait' });
    expectQuiet();
    await page.context().close();
  });
}
