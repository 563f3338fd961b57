// The first page: its tiles lead to what they count, and little data is a sentence.
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { UsageReportObject } from '../../src/portal/api/usage.ts';
import { chat } from '../support/start.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'overview-team', credit: '5' });
const { key } = await adminApi<CreatedKeyObject>('POST', '/workspaces/overview-team/keys', { name: 'overview' });
for (const content of ['one', 'two']) {
  const answer = await chat({ ...gateway, key }, { content });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}
// A refused request, which usage does not count.
const none = { name: 'no budget', budget: { limit: '0', period: 'total' } };
const poor = await adminApi<CreatedKeyObject>('POST', '/workspaces/overview-team/keys', none);
const refused = await chat({ ...gateway, key: poor.key }, { content: 'three' });
if (refused.status !== 402) throw new Error(await refused.text());
await refused.text();

const figure = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const path = '/?workspace=overview-team';

test('tiles lead to what they count, by keyboard', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, path);
  await expect.poll(() => figure(page, 'Requests today').innerText()).toMatch(/\n2$/);
  await figure(page, 'Requests today').getByRole('link').press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
  await expect.poll(() => page.getByRole('region', { name: 'Requests' }).getByRole('row').count()).toBe(3);

  await page.goBack();
  await figure(page, 'Errors today').getByRole('link').press('Enter');
  await page.getByRole('heading', { name: 'No requests' }).waitFor();
  expect(new URL(page.url()).searchParams.get('outcome')).toBe('error');
  await page.getByRole('button', { name: 'Remove Outcome: Errors' }).waitFor();

  for (const [tile, time] of [
    ['Spend today', 'Today'],
    ['Spend this month', 'This month'],
    ['Time to first token', 'Today'],
  ] as const) {
    await page.goto(path);
    await expect.poll(() => figure(page, 'Requests today').innerText()).toMatch(/\n2$/);
    const figureOfTile = async () => (await figure(page, tile).innerText()).split('\n')[1] ?? '';
    // A dash stands for a figure that has not come yet.
    await expect.poll(figureOfTile).not.toMatch(/^–?$/);
    const spend = await figureOfTile();
    // The whole tile is the link.
    await figure(page, tile).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await tabs.heading(page);
    expect(await page.getByLabel('Time', { exact: true }).locator('option:checked').innerText()).toBe(time);
    const counted = tile === 'Time to first token' ? tile : 'Cost';
    await expect.poll(() => figure(page, counted).innerText()).toContain(spend);
  }
  expectQuiet();
  await page.context().close();
});

/** The report of hours, with a line for each of so many hours. */
async function withHours(page: Page, count: number): Promise<void> {
  await page.route('**/api/v1/usage?*by=hour*', async (route) => {
    const response = await route.fetch();
    const report = (await response.json()) as UsageReportObject;
    const [line] = report.data;
    if (line === undefined) throw new Error('no usage');
    const thisHour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    const hourOf = (away: number): string => `${new Date(thisHour - away * 3_600_000).toISOString().slice(0, 16)}Z`;
    const data = Array.from({ length: count }, (_, away) => ({ ...line, hour: hourOf(away) })).toReversed();
    await route.fulfill({ response, json: { ...report, data } });
  });
}

for (const width of [1280, 390] as const) {
  test(`little data is a sentence, and more has charts, in light and dark, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await tabs.openSignedIn(browser, path, { width });
    for (const [hours, says] of [
      [0, 'No request ended in the last 24 hours.'],
      [2, 'Charts appear when there are requests in 3 different hours.'],
      [3, 'Cost as a table'],
    ] as const) {
      await withHours(page, hours);
      await page.goto(path);
      await page.getByText(says).waitFor();
      await tabs.heading(page);
      // A chart is drawn after its table is there.
      await expect.poll(async () => (await page.locator('canvas').count()) > 0).toBe(hours === 3);
      await tabs.expectNoOverflow(page);
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await tabs.expectAccessible(page);
        await tabs.screenshot(page, `overview-${hours}-hours-${width}-${scheme}`);
      }
      await page.unrouteAll({ behavior: 'wait' });
    }
    expectQuiet();
    await page.context().close();
  });
}
