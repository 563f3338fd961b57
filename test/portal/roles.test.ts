// @suite long
import type { BrowserContext, Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { chat } from '../support/start.ts';
import * as tabs from './support/browser.ts';
import { signInAs } from './support/people.ts';
import { forFile } from '../support/for-file.ts';

// What a member and an API key see: other pages than an admin, and on the same pages other things.

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
await (await chat(gateway, {})).text();

interface Shown {
  readonly path: string;
  readonly title: string;
  readonly open?: (page: Page) => Promise<void>;
}

const usage: Shown = {
  ...{ path: '/usage?range=24h', title: 'Usage' },
  open: (page) => page.locator('canvas').first().waitFor(),
};

const models: Shown = {
  ...{ path: '/models', title: 'Models' },
  open: (page) => page.getByRole('columnheader', { name: 'Context' }).waitFor(),
};

const requests: Shown = {
  ...{ path: '/requests', title: 'Requests' },
  open: async (page) => {
    await page.getByRole('rowheader').getByRole('link').first().click();
    await page.getByRole('button', { name: 'Copy x-request-id' }).waitFor();
  },
};

const pagesOf: Readonly<Record<'member' | 'key', readonly Shown[]>> = {
  key: [
    { path: '/', title: 'Overview', open: (page) => page.getByText('requests a second').waitFor() },
    usage,
    models,
    requests,
  ],
  member: [
    { path: '/', title: 'Overview' },
    { path: '/keys', title: 'Keys' },
    usage,
    { path: '/balance', title: 'Balance' },
    models,
    requests,
    { path: '/playground', title: 'Playground' },
    {
      path: '/members',
      title: 'Members',
      open: (page) => page.getByRole('rowheader', { name: 'mia@example.com' }).waitFor(),
    },
    { path: '/audit', title: 'Audit log' },
  ],
};

const signIn: Readonly<Record<keyof typeof pagesOf, (context: BrowserContext) => Promise<void>>> = {
  member: (context) => signInAs(context, { address: 'mia@example.com', groups: { demo: 'owner' } }),
  key: async ({ request }) => {
    const reply = await request.post('/api/v1/session', { data: { key: gateway.key } });
    expect(reply.status()).toBe(201);
  },
};

/** Each width in one of the colours: pages.test.ts has all pages in both. */
const looks = [
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'light' },
] as const;
const views = (['member', 'key'] as const).flatMap((role) => looks.map((look) => ({ role, ...look })));

test.each(views)(
  'every page that a $role sees is accessible, $scheme, $width wide',
  async ({ role, width, scheme }) => {
    const { page, expectQuiet } = await tabs.openTab(browser, { width });
    await signIn[role](page.context());
    for (const { path, title, open } of pagesOf[role]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await tabs.heading(page);
      await open?.(page);
      await tabs.expectNoOverflow(page);
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `${role}-${title.replace(' ', '-').toLowerCase()}-${width}-${scheme}`);
      expect(await page.content(), path).not.toContain(gateway.key);
    }
    const menu = page.getByRole('navigation', { name: 'Pages', includeHidden: true });
    const links = await menu.getByRole('link', { includeHidden: true }).allTextContents();
    expect(links).toEqual(pagesOf[role].map(({ title }) => title));
    expectQuiet();
    await page.context().close();
  },
);
