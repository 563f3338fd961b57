// The search for keys, workspaces, models and requests, by keyboard.
import { inject, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import { chat } from '../support/start.ts';
import { forFile } from '../support/for-file.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';

const gateway = inject('gateway');
const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'jump-team', credit: '5' });
const { id } = await adminApi<CreatedKeyObject>('POST', '/workspaces/jump-team/keys', { name: 'jump-key' });
const answer = await chat(gateway, { content: 'to be found by its id' });
const { id: request } = (await answer.json()) as { readonly id: string };

test.each([
  ['jump-te', 'Workspace jump-team', '/balance?workspace=jump-team'],
  ['jump-ke', 'Key jump-key jump-team', `/keys?workspace=jump-team&search=${id}`],
  [id, 'Key jump-key jump-team', `/keys?workspace=jump-team&search=${id}`],
  ['demo/mi', 'Model demo/mini', '/models?model=demo%2Fmini'],
  [request, `Request ${request}`, `/requests?request=${request}`],
])('%s finds %s', async (text, option, address) => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, '/');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Key, workspace, model or request, by name or id' }).waitFor();
  await page.keyboard.type(text);
  await page.getByRole('option', { name: option }).waitFor();
  await tabs.expectAccessible(page, tabs.besideSuggestions);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname + url.search === address);
  expectQuiet();
  await page.context().close();
});
