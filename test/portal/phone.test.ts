// Every page on a phone: rows of tables are cards of two lines, and nothing scrolls sideways.
import { expect, inject, test } from 'vitest';
import { chat } from '../support/start.ts';
import { forFile } from '../support/for-file.ts';
import * as tabs from './support/browser.ts';

const gateway = inject('gateway');
const browser = await forFile(tabs.launchBrowser());
const answer = await chat(gateway, { content: 'on a phone', tags: 'team=search' });
if (answer.status !== 200) throw new Error(await answer.text());
await answer.text();

const thisMonth = new Date().toISOString().slice(0, 7);
const paths = [
  ...['/', '/keys', '/identities', '/usage?range=24h&by=key', '/balance', `/balance?statement=${thisMonth}`],
  ...['/models', '/models?model=demo/chat', '/requests', '/playground', '/members', '/audit', '/workspaces', '/top'],
  '/backends',
] as const;

/** What is wider than its box: the page, or a table or a piece of code in it. Run in the page. */
const tooWide = `[document.documentElement, ...document.querySelectorAll('.scroll, .code, .sheet')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((box) => (box.getAttribute('aria-label') ?? box.className) + ' ' + box.scrollWidth + ' > ' + box.clientWidth)`;

/** The height of the tallest card, in lines of text with the space around them. */
const tallest = `Math.max(0, ...[...document.querySelectorAll('tbody tr:not([data-open])')].map((row) => row.offsetHeight))`;

test('nothing on any page scrolls sideways at 390 pixels, and a card opens to all of its row', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/', { width: 390 });
  const wide: Record<string, unknown> = {};
  const heights: Record<string, unknown> = {};
  for (const path of paths) {
    await page.goto(path);
    await tabs.heading(page);
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    const found = await page.evaluate<readonly string[]>(tooWide);
    if (found.length > 0) wide[path] = found;
    heights[path] = await page.evaluate(tallest);
  }
  expect(wide).toEqual({});
  // Two lines of text with their space; a bar of a budget is higher than text.
  expect(Object.entries(heights).filter(([, height]) => Number(height) > 80)).toEqual([]);
  await page.goto('/requests');
  const row = page.getByRole('row').nth(1);
  await row.getByRole('button', { name: 'More' }).press('Enter');
  await expect.poll(() => row.innerText()).toMatch(/\d+ m?s\s+1\s+Less$/);
  expect(await page.evaluate(tooWide)).toEqual([]);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'requests-card-390');
  expectQuiet();
  await page.context().close();
});
