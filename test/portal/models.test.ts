// The catalog as its readers look for a model.
import { expect, test } from 'vitest';
import type { ModelListObject } from '../../src/portal/api/catalog.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(tabs.launchBrowser());

test('models are narrowed and sorted, the address says so, and one opens at the side', async () => {
  const { data } = await adminApi<ModelListObject>('GET', '/models');
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/models');
  const names = () => page.getByRole('rowheader').allInnerTexts();
  await expect.poll(names).toEqual(data.map(({ id }) => id));

  await page.getByRole('button', { name: 'Out', exact: true }).click();
  const byPrice = data.toSorted((one, other) => Number(other.pricing?.completion) - Number(one.pricing?.completion));
  const prices = (ids: readonly string[]) => ids.map((id) => data.find((one) => one.id === id)?.pricing?.completion);
  await expect.poll(async () => prices(await names())).toEqual(prices(byPrice.map(({ id }) => id)));
  await page.getByLabel('Takes').selectOption('Images');
  const withImages = data.filter(({ input_modalities: takes }) => takes.includes('image')).map(({ id }) => id);
  await expect.poll(async () => (await names()).toSorted()).toEqual(withImages.toSorted());
  await tabs.expectAccessible(page);
  await page.getByRole('rowheader').getByRole('link').first().press('Enter');
  await page.getByRole('dialog').getByText('How to call it').waitFor();
  await tabs.expectAccessible(page);
  await page.keyboard.press('Escape');
  expect(new URL(page.url()).search).toBe('?takes=image');
  await page.getByLabel('State').selectOption('Unavailable');
  expect(new URL(page.url()).search).toBe('?takes=image&state=Unavailable');
  expectQuiet();
  await page.context().close();
});

/** The sizes of links and buttons of a table that are no targets of 24 pixels (WCAG 2.2, 2.5.8). Run in the page. */
const smallTargets = `[...document.querySelectorAll('.table :is(a, button)')]
  .map((target) => target.getBoundingClientRect())
  .filter(({ width, height }) => width < 24 || height < 24)
  .map(({ width, height }) => width + ' x ' + height)`;

test.each([
  { models: 40, height: 1080, fitting: 40 },
  { models: 40, height: 900, fitting: 32 },
  { models: 20, height: 900, fitting: 18 },
])('$fitting of $models models fit a screen of 1440 by $height, each a target of 24 pixels', async (given) => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/');
  await page.setViewportSize({ width: 1440, height: given.height });
  await page.route('**/api/v1/models', async (route) => {
    const response = await route.fetch();
    const list = (await response.json()) as ModelListObject;
    const [one] = list.data;
    if (one === undefined) throw new Error('no model');
    const data = Array.from({ length: given.models }, (_, at) => ({ ...one, id: `organisation/some-model-${at}` }));
    await route.fulfill({ response, json: { ...list, data } });
  });
  await page.getByRole('link', { name: 'Models' }).first().click();
  await expect.poll(() => page.getByRole('rowheader').count()).toBe(given.models);
  await tabs.heading(page);
  await tabs.screenshot(page, `models-${given.models}-${given.height}`);
  const last = page.getByRole('rowheader').nth(given.fitting - 1);
  const box = await last.boundingBox();
  expect((box?.y ?? 1e9) + (box?.height ?? 0)).toBeLessThanOrEqual(given.height);
  expect(await page.evaluate(smallTargets)).toEqual([]);
  expect(
    await page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.scroll'))`,
    ),
  ).toBe(0);
  await page.unrouteAll({ behavior: 'wait' });
  expectQuiet();
  await page.context().close();
});
