// How long the portal's pages take to answer a click or a key with long lists: `npm run interactions -- [--rounds N] [--keys N]
// [--models N] [--members N] [--limit MS] [--name PART]`.
//
// A gateway as `npm start` starts it, with a workspace of 10,000 keys and 500 members and a catalog of 1,000 models, and a
// real Chromium without throttling. Each time on a page that was just loaded. Three figures for each interaction, as the
// median and the 95th percentile:
// - frame: processor time of the page's main thread until the next frame is there, which is what the person waits for.
//   Other programs on the machine do not count.
// - all: the same until the page is quiet, with the answers that it asked for.
// - shown: the time until the next frame, as the Event Timing API has it, in steps of 8 ms. On a busy machine it has the
//   waits for a processor, too.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CDPSession, Page } from 'playwright-core';
import { createKey } from '../src/books/accounts/keys.ts';
import { inviteMember } from '../src/books/accounts/members.ts';
import { createWorkspace } from '../src/books/accounts/workspaces.ts';
import { databaseLocation } from '../src/books/databases/database-location.ts';
import { openDatabase } from '../src/books/databases/open-database.ts';
import { needPrograms } from '../test/support/needed-programs.ts';
import { quantile } from '../test/support/quantile.ts';
import { startPortal } from '../test/support/start-portal.ts';
import { alignTable } from './table.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    keys: { type: 'string', default: '10000' },
    models: { type: 'string', default: '1000' },
    members: { type: 'string', default: '500' },
    limit: { type: 'string', default: '60' },
    name: { type: 'string', default: '' },
  },
});
const rounds = Number(values.rounds);
const limitMs = Number(values.limit);
await needPrograms('Chromium');
const workspace = 'crowded';

async function fill(data: string): Promise<void> {
  const location = databaseLocation({ url: `sqlite:${join(data, 'weir.db')}` });
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  const by = { actor: { kind: 'command-line', name: 'bench' }, now: Date.now() } as const;
  const { queries } = database;
  await createWorkspace(queries, { name: workspace, credit: 0n, maxInFlight: 1 }, by);
  for (let number = 0; number < Number(values.keys); number += 1)
    await createKey(queries, { workspace, name: `job ${number}`, rate: 1, burst: 1 }, by);
  for (let number = 0; number < Number(values.members); number += 1)
    await inviteMember(queries, workspace, { address: `person-${number}@example.com`, role: 'member' }, by);
  await database.close();
}

const modelManifests = (): string =>
  Array.from({ length: Number(values.models) }, (_, number) =>
    [
      'apiVersion: weir.dev/v1alpha1',
      'kind: Model',
      `metadata: {name: many-${number}}`,
      'spec:',
      `  id: many/model-${number}`,
      '  ownedBy: bench',
      '  added: "2026-06-01T00:00:00Z"',
      `  contextLength: ${4096 + number}`,
      '  pricing: {prompt: "0.000001", completion: "0.000002", inputCacheRead: "0.0000001"}',
      '  routes: [{backend: demo-engine, upstreamModel: demo-chat}]',
      '---',
      '',
    ].join('\n'),
  ).join('');

/** A key that a person presses on a page. */
interface Interaction {
  readonly name: string;
  readonly path: string;
  /** Brings the focus to where the key is pressed. */
  readonly prepare: (page: Page) => Promise<unknown>;
  readonly key: string;
  /** Is there when the interaction is over. */
  readonly until: (page: Page) => Promise<unknown>;
}

const rowMenu = (page: Page) => page.getByRole('button', { name: /^Actions on/ }).nth(20);

async function openRowMenu(page: Page): Promise<void> {
  await rowMenu(page).press('Enter');
  await page.getByRole('menuitem').first().waitFor();
}

async function showMore(page: Page, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const rows = await page.getByRole('rowheader').count();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('rowheader').nth(rows).waitFor();
  }
}

const keysPath = `/keys?workspace=${workspace}`;
const ofKeys = (shown: number): readonly Interaction[] => [
  {
    ...{ name: `keys, ${shown} shown: open the menu of a row`, path: keysPath, key: 'Enter' },
    prepare: async (page) => {
      await showMore(page, shown / 50 - 1);
      await rowMenu(page).focus();
    },
    until: (page) => page.getByRole('menuitem', { name: 'Edit' }).waitFor(),
  },
  {
    ...{ name: `keys, ${shown} shown: open the form of a key`, path: keysPath, key: 'Enter' },
    prepare: async (page) => {
      await showMore(page, shown / 50 - 1);
      await openRowMenu(page);
    },
    until: (page) => page.getByLabel('Budget (USD)').waitFor(),
  },
];

const membersPath = `/members?workspace=${workspace}`;
const interactions: readonly Interaction[] = [
  ...ofKeys(50),
  ...ofKeys(200),
  {
    ...{ name: 'keys: search', path: keysPath, key: 'Enter' },
    prepare: (page) => page.getByLabel('Search keys').fill('job 777'),
    until: (page) => page.getByRole('rowheader', { name: /^job 7777/ }).waitFor(),
  },
  {
    ...{ name: 'keys: type a letter into the form', path: keysPath, key: 'a' },
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('button', { name: 'Add many/model-0' }).waitFor();
      await page.getByLabel('Models', { exact: true }).focus();
    },
    until: (page) => page.locator('[value="a"]').waitFor(),
  },
  {
    ...{ name: 'keys: show 50 more', path: keysPath, key: 'Enter' },
    prepare: (page) => page.getByRole('button', { name: 'Show more' }).focus(),
    until: (page) => page.getByRole('rowheader').nth(60).waitFor(),
  },
  {
    ...{ name: 'models: type a letter into the filter', path: '/models', key: '9' },
    prepare: (page) => page.getByLabel('Find').focus(),
    until: (page) => page.getByRole('rowheader', { name: 'many/model-0', exact: true }).waitFor({ state: 'detached' }),
  },
  {
    ...{ name: 'models: remove the letter', path: '/models?find=9', key: 'Backspace' },
    prepare: (page) => page.getByLabel('Find').press('End'),
    until: (page) => page.getByRole('rowheader', { name: 'many/model-0', exact: true }).waitFor(),
  },
  {
    ...{ name: 'models: sort', path: '/models', key: 'Enter' },
    prepare: (page) => page.getByRole('button', { name: 'Context' }).focus(),
    until: (page) => page.locator('th[aria-sort]').waitFor(),
  },
  {
    ...{ name: 'models: open one', path: '/models', key: 'Enter' },
    prepare: (page) => page.getByRole('link', { name: 'many/model-1', exact: true }).focus(),
    until: (page) => page.getByRole('dialog', { name: 'many/model-1' }).waitFor(),
  },
  {
    ...{ name: 'jump: open the search', path: keysPath, key: 'Control+k' },
    prepare: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
    until: (page) => page.getByRole('combobox', { name: /^Key, workspace/ }).waitFor(),
  },
  {
    ...{ name: 'jump: type a letter', path: keysPath, key: '7' },
    prepare: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: /^Key, workspace/ }).waitFor();
      await page.keyboard.type('job 77');
    },
    until: (page) =>
      page
        .getByRole('option', { name: /job 777/ })
        .first()
        .waitFor(),
  },
  {
    ...{ name: 'members: open the menu of a row', path: membersPath, key: 'Enter' },
    prepare: (page) => rowMenu(page).focus(),
    until: (page) => page.getByRole('menuitem', { name: 'Change role' }).waitFor(),
  },
  {
    ...{ name: 'members: open the form of a role', path: membersPath, key: 'Enter' },
    prepare: openRowMenu,
    until: (page) => page.getByRole('dialog').waitFor(),
  },
  {
    ...{ name: 'requests: choose a model of the filter', path: '/requests', key: 'ArrowDown' },
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByLabel('Model', { exact: true }).focus();
    },
    until: (page) => page.getByText('No request matches these filters.').waitFor(),
  },
  {
    ...{ name: 'requests: type a letter into the search box', path: '/requests', key: 'm' },
    prepare: (page) => page.getByLabel('Search requests').focus(),
    until: (page) => page.getByRole('option').nth(20).waitFor(),
  },
];

/** Runs in each page before its own code: the longest event since it was last asked, and whether an answer is waited for. */
const watch = `
  globalThis.weirWaiting = 0;
  const send = globalThis.fetch;
  globalThis.fetch = async (...given) => {
    globalThis.weirWaiting += 1;
    try { return await send(...given); } finally { globalThis.weirWaiting -= 1; }
  };
  globalThis.weirShownMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.weirShownMs = Math.max(globalThis.weirShownMs, duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: false });
`;

/** Resolves when no answer is waited for during three idle moments in a row. */
const quiet = `new Promise((resolve) => {
  let idle = 0;
  const look = () => {
    idle = globalThis.weirWaiting === 0 && document.querySelector('[aria-label="Loading"]') === null ? idle + 1 : 0;
    if (idle === 3) resolve();
    else requestAnimationFrame(() => requestIdleCallback(look));
  };
  look();
})`;

/** Resolves after the next frame. */
const nextFrame = `new Promise((resolve) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = resolve;
  port2.postMessage(undefined);
}))`;

async function workMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
}

interface Sample {
  readonly frame: number;
  readonly all: number;
  readonly shown: number;
}

/** The program that drives the browser looks for things before and after the measured time: that is work of the page, too. */
async function sample(page: Page, session: CDPSession, { prepare, key, until }: Interaction): Promise<Sample> {
  await prepare(page);
  await page.evaluate(quiet);
  await page.evaluate('globalThis.weirShownMs = 0');
  const before = await workMs(session);
  await page.keyboard.press(key);
  await page.evaluate(nextFrame);
  const frame = (await workMs(session)) - before;
  await page.evaluate(quiet);
  const all = (await workMs(session)) - before;
  const shown = (await page.evaluate('globalThis.weirShownMs')) as number;
  await until(page);
  return { frame, all, shown };
}

const data = mkdtempSync(join(tmpdir(), 'weir-interactions-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(data, { recursive: true, force: true }));
await fill(data);
const { portal, token, browser } = await startPortal(stack, { data });
writeFileSync(join(data, 'manifests-demo', 'many.yaml'), modelManifests());
const context = await browser.newContext({ baseURL: portal, viewport: { width: 1280, height: 800 } });
await context.addInitScript(watch);
const page = await context.newPage();
page.setDefaultTimeout(120_000);
const session = await context.newCDPSession(page);
await session.send('Performance.enable', { timeDomain: 'threadTicks' });
await page.goto(`/#token=${token}`);
await page.goto('/models?find=model-999');
await page.getByRole('rowheader', { name: `many/model-${Number(values.models) - 1}` }).waitFor({ timeout: 120_000 });

const rows: (readonly string[])[] = [];
const late: string[] = [];
for (const interaction of interactions.filter(({ name }) => name.includes(values.name))) {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await page.goto(interaction.path);
    await page.evaluate(quiet);
    samples.push(await sample(page, session, interaction));
  }
  const figures = (['frame', 'all', 'shown'] as const).flatMap((name) => {
    const numbers = samples.map((one) => one[name]);
    return [quantile(numbers, 0.5), quantile(numbers, 0.95)];
  });
  if ((figures[1] ?? Infinity) > limitMs) late.push(interaction.name);
  rows.push([interaction.name, ...figures.map((value) => value.toFixed(0))]);
  console.error(rows.at(-1)?.join('  '));
}
console.log(alignTable([['interaction', 'frame p50, ms', 'p95', 'all p50', 'p95', 'shown p50', 'p95'], ...rows]));
if (late.length > 0) {
  console.log(`more than ${limitMs} ms until the next frame at p95: ${late.join('; ')}`);
  process.exitCode = 1;
}
