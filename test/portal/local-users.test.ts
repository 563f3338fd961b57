// People who sign in with a password: by the link of an invitation, and later without it.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sampleNow } from '../support/sample-database.ts';
import { adminToken, call, samplePortal } from '../support/sample-portal.ts';
import * as tabs from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const browser = await forFile(tabs.launchBrowser());

const address = 'lea@example.com';
const password = 'correct horse battery';
const pages = join(import.meta.dirname, '..', '..', 'portal', 'dist');

/** A portal of the test's own: the shared one keeps the form of the token at once on its sign-in page. */
async function ownPortal(stack: AsyncDisposableStack) {
  const { server } = await samplePortal({}, { pages });
  stack.defer(() => server.close());
  return { server, portal: await server.listen({ host: '127.0.0.1', port: 0 }) };
}

test('an admin invites a person on the page of members, hands over the link, and removes the person', async () => {
  await using stack = new AsyncDisposableStack();
  const { server, portal } = await ownPortal(stack);
  const { page, expectQuiet } = await tabs.openTab(browser, { portal });
  await page.clock.setFixedTime(sampleNow);
  await page.goto(`/members?workspace=acme#token=${adminToken}`);
  const users = page.getByRole('region', { name: 'Local users' });
  await page.getByText('Nobody signs in with a password yet.').waitFor();
  await page.getByRole('button', { name: 'Invite local user' }).click();
  await page.getByLabel('E-mail address').fill(address);
  await page.getByLabel('Role', { exact: true }).selectOption('owner');
  await tabs.expectAccessible(page);
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link').inputValue();
  expect(link).toMatch(`${portal}/#invitation=`);
  expect(await page.content()).not.toContain(link.split('=')[1]);
  const row = users.getByRole('row', { name: address });
  await row.getByText('Invited until').waitFor();
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await tabs.expectNoOverflow(page);
    await tabs.expectAccessible(page);
    await tabs.screenshot(page, `local-users-${width}`);
  }

  const other = await tabs.openTab(browser, { portal, expected: [401] });
  await other.page.goto(link);
  await other.page.getByLabel('Password').fill(password);
  await other.page.keyboard.press('Enter');
  await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.reload();
  await row.getByText('Joined').waitFor();
  expect(await page.getByLabel('Link').count()).toBe(0);
  await page.getByRole('region', { name: 'Members' }).getByRole('row', { name: address }).getByText('Owner').waitFor();

  await tabs.chooseAction(page, `local user ${address}`, 'Remove');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
  await other.page.reload();
  expect(await tabs.heading(other.page)).toBe('Sign in');
  const { body } = await call(server, { url: '/api/v1/audit' });
  const { data } = body as { readonly data: readonly { readonly action: string }[] };
  expect(data.map(({ action }) => action).filter((action) => action.startsWith('user.'))).toEqual([
    ...['user.remove', 'user.password', 'user.invite'],
  ]);
  expectQuiet();
  other.expectQuiet();
  await page.context().close();
  await other.page.context().close();
});

for (const width of [1280, 390] as const) {
  test(`an invited person chooses a password, is signed in, and signs in again, ${width} pixels wide`, async () => {
    await using stack = new AsyncDisposableStack();
    const { server, portal } = await ownPortal(stack);
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
