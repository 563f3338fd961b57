import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { chat } from '../support/start.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';
import {
  expectAccessible,
  expectNoOverflow,
  heading,
  launchBrowser,
  openSignedIn,
  screenshot,
} from './support/browser.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');
const manifest = join(gateway.data, 'manifests-demo', 'broken.yaml');

const browser = await forFile(launchBrowser());
const engine = await forFile(startProgrammableEngine({ models: ['refused'], apiKey: 'another one' }));
afterEach(() => rmSync(manifest, { force: true }));

for (const width of [1280, 390] as const) {
  test(`the Overview begins with what is wrong now, and what to do, for as long as it is, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await openSignedIn(browser, '/', { width });
    expect(await heading(page)).toBe('Overview');
    await page.locator('.figures').waitFor();
    expect(await page.content()).not.toContain('Backend/broken');

    writeFileSync(manifest, backendManifest('broken', { port: 1 }, 'vlm'));
    const problem = page.getByRole('row').filter({ hasText: 'Backend/broken' });
    await problem.waitFor();
    expect(await problem.innerText()).toMatch(/Warning[^]*has a mistake/);
    const comesFirst = `(() => {
      const [table, figures] = ['.table', '.figures'].map((name) => document.querySelector(name));
      return Boolean(table.compareDocumentPosition(figures) & Node.DOCUMENT_POSITION_FOLLOWING);
    })()`;
    expect(await page.evaluate(comesFirst)).toBe(true);
    await expectNoOverflow(page);
    await expectAccessible(page);
    await screenshot(page, `overview-problem-${width}`);
    await problem.getByRole('link', { name: 'What to do about Backend/broken' }).press('Enter');
    const sheet = page.getByRole('dialog', { name: 'Backend/broken has a mistake' });
    await sheet.getByText('Refused: spec.engine: expected one of').waitFor();
    // The runbook, which the build has rendered.
    await sheet.getByText('Weir continues to use its last good version').waitFor();
    await expectNoOverflow(page);
    await expectAccessible(page);
    await screenshot(page, `problem-${width}`);
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await problem.getByRole('link', { name: 'Backend/broken', exact: true }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Backends' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'broken' }).waitFor();
    expect(new URL(page.url()).search).toBe('?backend=broken');
    await page.goBack();
    await problem.waitFor();

    rmSync(manifest);
    await problem.waitFor({ state: 'detached' });
    expectQuiet();
    await page.context().close();
  });
}

test('a red row leads to the cause and the repair in three clicks', async () => {
  writeFileSync(manifest, backendManifest('refusing', engine) + modelManifest('test/refused', ['refusing']));
  const { page, expectQuiet } = await openSignedIn(browser, '/');
  const row = page.getByRole('row').filter({ hasText: 'Backend/refusing' });
  await row.waitFor();
  const answer = await chat(gateway, { model: 'test/refused' });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  await expect.poll(() => row.innerText()).toMatch(/Critical[^]*test\/refused[^]*refuses its key/);

  // On a phone both links have a place in a card of two lines.
  await page.setViewportSize({ width: 390, height: 844 });
  const links = ['Failed requests', 'What to do about Backend/refusing'].map((name) => row.getByRole('link', { name }));
  await expect.poll(async () => (await row.boundingBox())?.height).toBeLessThan(70);
  for (const link of links) expect((await link.boundingBox())?.height).toBeGreaterThanOrEqual(24);
  await expectNoOverflow(page);
  await expectAccessible(page);
  await page.setViewportSize({ width: 1280, height: 800 });

  await row.getByRole('link', { name: 'What to do about Backend/refusing' }).click();
  const sheet = page.getByRole('dialog', { name: 'Backend/refusing refuses its key' });
  await sheet.getByText('Correct the key in the Backend’s Secret.').waitFor();
  // From the table of causes in the docs.
  await sheet.getByText('CredentialRefused').waitFor();
  await sheet.getByRole('link', { name: 'Failed requests' }).click();
  expect(await heading(page)).toBe('Requests');
  await page.getByRole('row').filter({ hasText: 'test/refused' }).getByRole('link').first().click();
  await page
    .getByRole('dialog')
    .getByText(/refuses the credential/)
    .first()
    .waitFor();
  expectQuiet();
  await page.context().close();
});
