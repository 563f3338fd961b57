// The catalog as its readers look for a model.
import { expect, test } from 'vitest';
import type { ModelListObject } from '../../src/portal/api/catalog.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(tabs.launchBrowser());

test('models are sorted and narrowed, the address says so, and what is not measured yet says why', async () => {
  const { data } = await adminApi<ModelListObject>('GET', '/models');
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/models');
  const cards = page.getByRole('article');
  const names = () => cards.evaluateAll((all) => all.map((card) => card.getAttribute('aria-label')));
  await expect.poll(names).toEqual(data.map(({ id }) => id));
  const unused = data.filter(({ availability }) => availability === null);
  expect(unused.length).toBeGreaterThan(0);
  const facts = await page.getByRole('article', { name: unused[0]?.id ?? '', exact: true }).innerText();
  expect(facts).toMatch(/Availability\s+too few requests yet/);

  await page.getByLabel('Sort by').selectOption('Price of output');
  const byPrice = data.toSorted((one, other) => Number(one.pricing?.completion) - Number(other.pricing?.completion));
  await expect.poll(names).toEqual(byPrice.map(({ id }) => id));
  await page.getByLabel('Takes').selectOption('Images');
  const withImages = byPrice.filter(({ input_modalities: takes }) => takes.includes('image'));
  await expect.poll(names).toEqual(withImages.map(({ id }) => id));
  await page.getByLabel('State').selectOption('Unavailable');
  const away = withImages.filter(({ state }) => state === 'unavailable');
  await expect.poll(names).toEqual(away.map(({ id }) => id));
  expect(new URL(page.url()).search).toBe('?sort=output&takes=image&state=unavailable');
  await tabs.expectAccessible(page);
  expectQuiet();
  await page.context().close();
});
