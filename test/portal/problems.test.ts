import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { backendManifest } from '../support/weir.ts';
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
afterEach(() => rmSync(manifest, { force: true }));

for (const width of [1280, 390] as const) {
  test(`the Overview begins with what is wrong now, and what to do, for as long as it is, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await openSignedIn(browser, '/', { width });
    expect(await heading(page)).toBe('Overview');
    await page.locator('.figures').waitFor();
    expect(await page.content()).not.toContain('Backend/broken');

    writeFileSync(manifest, backendManifest('broken', { port: 1 }, 'vlm'));
    const problem = page.getByRole('listitem').filter({ hasText: 'Backend/broken' });
    await problem.waitFor();
    const text = await problem.innerText();
    expect(text).toMatch(/^Backend\/broken, since .+: Refused: spec\.engine: expected one of/);
    expect(text).toContain('docs/operate/runbooks.md#weirobjectrefused');
    expect(await page.getByRole('heading', { level: 2 }).first().innerText()).toMatch(/^\d+ current problems?$/);
    const comesFirst = `(() => {
      const [notice, figures] = ['.notice', '.figures'].map((name) => document.querySelector(name));
      return Boolean(notice.compareDocumentPosition(figures) & Node.DOCUMENT_POSITION_FOLLOWING);
    })()`;
    expect(await page.evaluate(comesFirst)).toBe(true);
    await expectNoOverflow(page);
    await expectAccessible(page);
    await screenshot(page, `overview-problem-${width}`);
    await problem.getByRole('link', { name: 'Backend/broken' }).press('Enter');
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
