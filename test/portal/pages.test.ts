// @suite long
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { chat } from '../support/start.ts';
import { canary } from '../support/weir.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
for (let count = 0; count < 5; count++) {
  const answer = await chat(gateway, { content: canary });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}

interface Shown {
  readonly name: string;
  readonly path: string;
  readonly title: string;
  /** What is opened before it is looked at. */
  readonly open?: (page: Page) => Promise<void>;
}

const thisMonth = new Date().toISOString().slice(0, 7);
const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
  new Date(),
);

const pages: readonly Shown[] = [
  { name: 'overview', path: '/', title: 'Overview', open: (page) => page.locator('.figures').waitFor() },
  { name: 'keys', path: '/keys', title: 'Keys' },
  {
    ...{ name: 'create-key', path: '/keys', title: 'Keys' },
    open: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Budget (USD)').waitFor();
    },
  },
  {
    ...{ name: 'create-identity', path: '/identities', title: 'Identities' },
    open: async (page) => {
      await page.getByRole('button', { name: 'Create identity' }).click();
      await page.getByLabel('Issuer').waitFor();
    },
  },
  {
    ...{ name: 'usage', path: '/usage?range=24h&by=key', title: 'Usage' },
    open: async (page) => {
      await page.getByText('Cost as a table').click();
      await page.getByRole('region', { name: 'Cost over time' }).waitFor();
    },
  },
  { name: 'balance', path: '/balance', title: 'Balance' },
  {
    ...{ name: 'statement', path: `/balance?statement=${thisMonth}`, title: `Statement for ${monthName}` },
    open: (page) => page.getByRole('table', { name: 'Models' }).waitFor(),
  },
  { name: 'models', path: '/models', title: 'Models' },
  {
    ...{ name: 'model', path: '/models?model=demo/chat', title: 'Models' },
    open: (page) => page.getByRole('dialog', { name: 'demo/chat' }).getByText('How to call it').waitFor(),
  },
  { name: 'requests', path: '/requests', title: 'Requests' },
  {
    ...{ name: 'request', path: '/requests', title: 'Requests' },
    open: async (page) => {
      await page.getByRole('rowheader').getByRole('link').first().click();
      await page.getByRole('button', { name: 'Copy x-request-id' }).waitFor();
    },
  },
  { name: 'playground', path: '/playground', title: 'Playground' },
  {
    ...{ name: 'invite-member', path: '/members', title: 'Members' },
    open: async (page) => {
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      await page.getByLabel('E-mail address').waitFor();
    },
  },
  { name: 'audit-log', path: '/audit', title: 'Audit log' },
  { name: 'workspaces', path: '/workspaces', title: 'Workspaces' },
  { name: 'top', path: '/top', title: 'Top' },
  { name: 'backends', path: '/backends', title: 'Backends' },
];

for (const width of [1280, 390] as const) {
  test(`every page is accessible and quiet in light and dark, ${width} pixels wide`, async () => {
    const signIn = await tabs.openTab(browser, { width, expected: [401] });
    await signIn.page.goto('/');
    expect(await tabs.heading(signIn.page)).toBe('Sign in');
    await lookAt(signIn.page, `sign-in-${width}`);
    signIn.expectQuiet();
    await signIn.page.context().close();

    const { page, expectQuiet } = await tabs.openSignedIn(browser, '/', { width });
    for (const { name, path, title, open } of pages) {
      // As a link does it: what is new is the page, and not the application.
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await tabs.heading(page);
      await open?.(page);
      await tabs.heading(page);
      await tabs.expectNoOverflow(page);
      await lookAt(page, `${name}-${width}`);
      const html = await page.content();
      for (const secret of [canary, gateway.key, gateway.token]) expect(html, name).not.toContain(secret);
      if ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
    }
    for (const { value } of await page.context().cookies()) {
      for (const secret of [canary, gateway.key, gateway.token]) expect(value).not.toContain(secret);
    }
    expectQuiet();
    await page.context().close();
  });
}

/** Keeps a picture of the page in both schemes. All rules are looked at in one of them, those about colours in the other, too. */
async function lookAt(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, `${name}-light`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await tabs.expectAccessible(page, { only: ['color-contrast'] });
  await tabs.screenshot(page, `${name}-dark`);
}
