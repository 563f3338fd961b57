// Callers without keys, from the page that lets them in to what each of them spent.
import { expect, inject, test } from 'vitest';
import type { KeyObject } from '../../src/portal/api/keys.ts';
import { forFile } from '../support/for-file.ts';
import { chat } from '../support/start.ts';
import { startTokenIssuer } from '../support/token-issuer.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';

const gateway = inject('gateway');

const browser = await forFile(tabs.launchBrowser());
const issuer = await forFile(startTokenIssuer());
await adminApi('POST', '/workspaces', { name: 'token-team', credit: '5' });
const token = await issuer.token({ sub: 'ci/build' });

async function call(): Promise<{ readonly status: number; readonly cost: number }> {
  const answer = await chat({ ...gateway, key: token }, {});
  const { usage } = (await answer.json()) as { readonly usage?: { readonly cost: number } };
  return { status: answer.status, cost: usage?.cost ?? 0 };
}

/** A change applies within a second. Refused tokens block their address after some, and other tests have the same address. */
async function untilCalls(status: number): Promise<void> {
  await expect.poll(async () => (await call()).status, { interval: 700 }).toBe(status);
}

const accounts = async (): Promise<readonly KeyObject[]> =>
  (await adminApi<{ readonly data: readonly KeyObject[] }>('GET', '/identities/ci-jobs/accounts')).data;

test('an admin makes an identity, a token of its issuer calls a model, and its subject appears with what it spent', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/', { expected: [400] });
  await page.getByRole('link', { name: 'Identities' }).click();
  await page.getByRole('button', { name: 'Create identity' }).click();
  const form = page.getByRole('dialog', { name: 'Create identity' });
  await form.getByLabel('Name').fill('ci-jobs');
  await form.getByLabel('Issuer').fill(issuer.issuer);
  await form.getByLabel('Audience').fill('weir');
  await form.getByLabel('Match').fill('claims.sub.startsWith(');
  await form.getByLabel('Workspace').selectOption('token-team');
  await form.getByLabel('Limits of').selectOption('Each subject');
  await form.getByLabel('Budget (USD)').fill('3');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByText('match: "claims.sub.startsWith("').waitFor();
  await tabs.expectAccessible(page);
  await form.getByLabel('Match').fill('claims.sub.startsWith("ci/")');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.waitFor({ state: 'detached' });
  const row = page.getByRole('row').filter({ hasText: 'ci-jobs' });
  expect(await row.innerText()).toMatch(
    /Accepted[^]*startsWith\("ci\/"\)[^]*token-team[^]*\$3\.00 a month\s+each subject/,
  );

  await untilCalls(200);
  const { cost } = await call();
  await expect.poll(async () => Number((await accounts())[0]?.spent)).toBeCloseTo(2 * cost, 12);
  await page.getByRole('link', { name: 'Accounts of ci-jobs' }).click();
  const dialog = page.getByRole('dialog', { name: 'Accounts of ci-jobs' });
  const subject = dialog.getByRole('row').filter({ hasText: 'ci/build' });
  expect(await subject.innerText()).toMatch(/token-team\s+Active\s+\$0\.0*[1-9]\d* of \$3\.00 a month\s+/);
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'identity-accounts-1280');

  await subject.getByRole('link', { name: 'ci/build' }).click();
  await page.getByRole('link', { name: 'ci-jobs', exact: true }).waitFor();
  await tabs.expectAccessible(page);
  await tabs.chooseAction(page, 'ci-jobs: ci/build', 'Suspend');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Suspend' }).click();
  await untilCalls(403);
  const [account] = await accounts();
  await page.goto(`/requests?workspace=token-team&key=${account?.id ?? ''}`);
  await page.getByRole('button', { name: 'Remove Key: ci-jobs: ci/build' }).waitFor();
  expectQuiet();
  await page.context().close();
});

test('an identity is edited and revoked: only what changed is sent, and its row is gone', async () => {
  const rules = { issuer: 'cluster', audience: 'weir', match: ['claims.sub != ""'], workspace_claim: 'claims.team' };
  await adminApi('POST', '/identities', { name: 'edited', ...rules, tags: { app: 'claims.sub' } });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/identities');
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON());
  });
  await tabs.chooseAction(page, 'edited', 'Edit');
  await page.getByLabel('Payer').selectOption('One workspace');
  await page.getByLabel('Workspace').selectOption('token-team');
  await page.getByLabel('Requests a second').fill('7');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(sent).toEqual([{ workspace: 'token-team', rate: 7 }]);
  const row = page.getByRole('row').filter({ hasText: 'edited' });
  await row.getByText('7 a second').waitFor();
  await tabs.chooseAction(page, 'edited', 'Revoke');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
  await row.waitFor({ state: 'detached' });
  expectQuiet();
  await page.context().close();
});
