import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect, inject } from 'vitest';
import { launchBrowser } from '../../support/chromium.ts';
import { stuckAfterMs } from '../../support/stuck-after.ts';

/** Kept by CI. */
const screenshots = join(import.meta.dirname, '..', '..', '..', '.weir', 'test', 'screenshots');

export { launchBrowser };

/** A tab whose doings are watched. */
export interface WatchedPage {
  readonly page: Page;
  /** Looks through what the tab said and asked for so far: no error, no word of the policy, nobody but the portal. */
  readonly expectQuiet: () => void;
}

export interface OpenOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: 1280 | 390;
  /** Status codes of answers that the test provokes: the browser writes a line for each. */
  readonly expected?: readonly number[];
  /** Address of a portal of the test's own. Default: the shared one. */
  readonly portal?: string;
}

/** Opens a tab of its own: no cookie, no storage. English, in a time zone apart from UTC. */
export async function openTab(browser: Browser, options: OpenOptions = {}): Promise<WatchedPage> {
  const { scheme = 'light', width = 1280, expected = [], portal = inject('gateway').portal } = options;
  const settings: BrowserContextOptions = {
    ...{ baseURL: portal, colorScheme: scheme, locale: 'en-GB', timezoneId: 'Europe/Berlin' },
    ...{ viewport: { width, height: width === 390 ? 844 : 800 }, acceptDownloads: true },
  };
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  page.setDefaultTimeout(stuckAfterMs);
  const said: string[] = [];
  const asked = new Set<string>();
  page.on('console', (message) => {
    const isExpected = expected.some((status) => message.text().includes(`status of ${status}`));
    if (['error', 'warning'].includes(message.type()) && !isExpected) said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(String(error)));
  context.on('request', (request) => asked.add(new URL(request.url()).origin));
  return {
    page,
    expectQuiet: () => {
      expect(said).toEqual([]);
      expect([...asked].filter((origin) => origin !== 'null')).toEqual([portal]);
    },
  };
}

/** Opens a tab and signs in as `npm start` would have it: with the token in the address. */
export async function openSignedIn(browser: Browser, path = '/', options: OpenOptions = {}): Promise<WatchedPage> {
  const tab = await openTab(browser, options);
  await tab.page.goto(`${path}#token=${inject('gateway').token}`);
  await heading(tab.page);
  return tab;
}

/** Waits until a page shows what it is about, and has asked for all it needs. */
export async function heading(page: Page): Promise<string> {
  const title = page.getByRole('heading', { level: 1 });
  await title.waitFor();
  await expect.poll(() => page.getByLabel('Loading').count()).toBe(0);
  return title.innerText();
}

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

interface AxeRules {
  /** Rules that are checked in place of all. */
  readonly only?: readonly string[];
  readonly without?: readonly string[];
}

/**
 * Beside an open list of suggestions, React Aria hides the rest of the page from screen readers, which would otherwise
 * wander off the list by touch. Tab closes the list, so the focus never comes to a hidden element.
 */
export const besideSuggestions: AxeRules = { without: ['aria-hidden-focus'] };

/** No violation of WCAG 2.2 AA that axe can find. Data of an older selection is dimmed until that of the new one is there. */
export async function expectAccessible(page: Page, { only, without = [] }: AxeRules = {}): Promise<void> {
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
  const axe = new AxeBuilder({ page });
  const chosen = only === undefined ? axe.withTags(wcag).disableRules([...without]) : axe.withRules([...only]);
  const { violations } = await chosen.analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)).toEqual([]);
}

/** Chooses an action on a row of a table from its menu, by keyboard. */
export async function chooseAction(page: Page, row: string, action: string): Promise<void> {
  const item = page.getByRole('menuitem', { name: action });
  // A dialog that has just closed gives the focus back a frame later, and a menu that loses the focus closes.
  await expect
    .poll(async () => {
      if (!(await item.isVisible())) await page.getByRole('button', { name: `Actions on ${row}` }).press('Enter');
      return item.isVisible();
    })
    .toBe(true);
  await item.press('Enter');
}

/** Changes filters in their sheet, and closes it. */
export async function filter(page: Page, change: (sheet: Locator) => Promise<unknown>): Promise<void> {
  await page.getByRole('button', { name: 'Filters', exact: true }).click();
  const sheet = page.getByRole('dialog', { name: 'Filters' });
  await change(sheet);
  await sheet.getByRole('button', { name: 'Done' }).click();
  await sheet.waitFor({ state: 'detached' });
}

/** Nothing stands out of the window: wide tables scroll inside their own box, and on a phone nothing scrolls sideways. */
export async function expectNoOverflow(page: Page): Promise<void> {
  // Run in the page.
  const width = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(width).toBe(0);
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}
