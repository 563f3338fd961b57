// People who sign in with a password: by the link of an invitation, and later without it.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, samplePortal } from '../support/sample-portal.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(tabs.launchBrowser());

const address = 'lea@example.com';
const password = 'correct horse battery';
const pages = join(import.meta.dirname, '..', '..', 'portal', 'dist');

for (const width of [1280, 390] as const) {
  test(`an invited person chooses a password, is signed in, and signs in again, ${width} pixels wide`, async () => {
    // The shared portal keeps the form of the token at once on its sign-in page.
    const { server } = await samplePortal({}, { pages });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => server.close());
    const portal = await server.listen({ host: '127.0.0.1', port: 0 });
    const invitation = { url: '/api/v1/users', payload: { address, workspace: 'acme' } };
    const { token } = (await call(server, { method: 'POST', ...invitation })).body as { readonly token: string };
    const { page, expectQuiet } = await tabs.openTab(browser, { width, portal, expected: [400, 401] });
    await page.goto(`/#invitation=${token}`);
    expect(await tabs.heading(page)).toBe('Choose a password');
    expect(page.url()).not.toContain(token);
    await tabs.expectAccessible(page);
    await tabs.screenshot(page, `invitation-${width}`);
    await page.getByLabel('Password').fill('short');
    await page.keyboard.press('Enter');
    await page.getByText('expected a password of 12 to 200 characters').waitFor();
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.content()).not.toContain(token);

    await page.context().clearCookies();
    await page.goto('/keys');
    await page.getByLabel('E-mail address').fill(address);
    await page.getByLabel('Password').fill('wrong horse battery');
    await page.keyboard.press('Enter');
    await page.getByText('The address or the password is wrong.').waitFor();
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `sign-in-password-${width}-${scheme}`);
    }
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await tabs.expectNoOverflow(page);
    expectQuiet();
    await page.context().close();
  });
}
