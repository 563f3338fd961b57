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

test('forty models fit a screen of 1440 by 900', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.route('**/api/v1/models', async (route) => {
    const response = await route.fetch();
    const list = (await response.json()) as ModelListObject;
    const [one] = list.data;
    if (one === undefined) throw new Error('no model');
    const forty = Array.from({ length: 40 }, (_, at) => ({ ...one, id: `organisation/some-model-${at}` }));
    await route.fulfill({ response, json: { ...list, data: forty } });
  });
  await page.getByRole('link', { name: 'Models' }).first().click();
  await expect.poll(() => page.getByRole('rowheader').count()).toBe(40);
  await tabs.heading(page);
  await tabs.screenshot(page, 'models-forty');
  const box = await page.getByRole('rowheader').last().boundingBox();
  expect((box?.y ?? 1e9) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
  expect(
    await page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.scroll'))`,
    ),
  ).toBe(0);
  await page.unrouteAll({ behavior: 'wait' });
  expectQuiet();
  await page.context().close();
});
