import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/sample-database.ts';
import { samplePortal } from '../support/sample-portal.ts';
import { launchBrowser } from './support/browser.ts';

test('an address that was opened before the pages are built shows them by itself, and still signs in', async () => {
  const folder = join(temporaryFolder(), 'dist');
  const { server } = await samplePortal({}, { pages: folder });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => server.close());
  const browser = stack.use(await launchBrowser());
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const page = await browser.newPage();
  await page.goto(`${address}/#token=secret`);
  await page.getByRole('heading', { name: 'not built yet' }).waitFor();
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.html'), '<!doctype html><h1>Overview</h1>');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#token=secret');
});
