// Takes the pictures of the portal in docs/pictures: `npm run pictures`. A gateway as `npm start` starts it, on a ledger of
// 45 days of a few teams, in a real Chromium.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { SettledRequest } from '../src/core/settled-request.ts';
import { createKey } from '../src/books/accounts/keys.ts';
import { createWorkspace } from '../src/books/accounts/workspaces.ts';
import { databaseLocation } from '../src/books/databases/database-location.ts';
import { openDatabase } from '../src/books/databases/open-database.ts';
import { settleBatch } from '../src/books/ledger/settle-batch.ts';
import { type Chance, seededChance } from '../test/programmable-engine/chance.ts';
import { needPrograms } from '../test/support/needed-programs.ts';
import { chat } from '../test/support/start.ts';
import { startPortal } from '../test/support/start-portal.ts';

interface Team {
  readonly name: string;
  /** USD. */
  readonly credit: number;
  readonly keys: readonly { readonly name: string; readonly budget?: number; readonly perDay: number }[];
}

const teams: readonly Team[] = [
  {
    ...{ name: 'search', credit: 2000 },
    keys: [
      { name: 'ranking, production', budget: 700, perDay: 130 },
      { name: 'notebooks', budget: 80, perDay: 12 },
    ],
  },
  {
    ...{ name: 'support', credit: 1200 },
    keys: [
      { name: 'assistant', budget: 500, perDay: 80 },
      { name: 'evaluation', perDay: 9 },
    ],
  },
  { name: 'research', credit: 400, keys: [{ name: 'experiments', budget: 200, perDay: 25 }] },
];
/** With the price of a thousand tokens, USD. */
const models = [
  ['qwen/qwen3-32b', 0.6],
  ['deepseek/deepseek-v3', 0.9],
  ['qwen/qwen3-8b', 0.2],
  ['mistral/small-3', 0.3],
] as const;

const dayMs = 86_400_000;
const days = 45;
const usd = 1_000_000_000_000;

/** Settles what the teams asked for. The same seed gives the same figures of each day. */
async function fill(file: string, chance: Chance): Promise<void> {
  const database = await openDatabase(databaseLocation({ url: `sqlite:${file}` }), {
    missing: 'create',
    user: 'operator',
  });
  const { queries } = database;
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const by = { actor: { kind: 'command-line', name: 'ada' }, now: today - days * dayMs } as const;
  for (const { name, credit, keys } of teams) {
    const made = await createWorkspace(queries, { name, credit: BigInt(credit * usd), maxInFlight: 256 }, by);
    for (const { name: keyName, budget, perDay } of keys) {
      const limit = budget === undefined ? {} : { budget: { limit: BigInt(budget * usd), period: 'month' as const } };
      const { key } = await createKey(queries, { workspace: name, name: keyName, rate: 50, burst: 100, ...limit }, by);
      for (let day = days; day >= 0; day -= 1) {
        const from = today - day * dayMs;
        // Less at the weekend.
        const share = [0, 6].includes(new Date(from).getUTCDay()) ? 0.35 : 0.8 + 0.4 * chance();
        const count = Math.round(perDay * share);
        const rows = Array.from({ length: count }, () =>
          request({ workspaceId: made.id, keyId: key.id }, from, chance),
        );
        await settleBatch(
          database,
          rows.filter(({ startedAt }) => startedAt < Date.now() - 60_000),
        );
      }
    }
  }
  await database.close();
}

function request(of: Pick<SettledRequest, 'workspaceId' | 'keyId'>, from: number, chance: Chance): SettledRequest {
  // Most of the day's work is between eight and eighteen.
  const startedAt = Math.floor(from + (chance() < 0.8 ? 8 + 10 * chance() : 24 * chance()) * 3_600_000);
  const id = Buffer.alloc(16, 0);
  id.writeUIntBE(startedAt, 0, 6);
  for (let at = 6; at < 16; at += 1) id[at] = Math.floor(chance() * 256);
  const [modelId, price] = models[Math.floor(chance() ** 1.6 * models.length)] ?? models[0];
  const promptTokens = 400 + Math.floor(6_000 * chance() ** 2);
  const completionTokens = 60 + Math.floor(900 * chance() ** 2);
  const kind = chance() < 0.985 ? 'completed' : chance() < 0.5 ? 'cancelled' : 'failed';
  const cost =
    kind === 'failed' ? 0n : BigInt(Math.round(((promptTokens + 3 * completionTokens) / 1000) * price * usd) / 10);
  return {
    ...of,
    ...{ requestId: `chatcmpl-${id.toString('base64url')}`, correlationId: `trace-${startedAt}`, modelId },
    ...{
      routeId: `${modelId}@vllm-a`,
      surface: 'chat',
      stream: true,
      kind,
      countedBy: 'engine',
      attempts: 1,
      routes: 1,
    },
    usage: { promptTokens, completionTokens, cachedTokens: Math.floor(promptTokens * 0.6 * chance()) },
    ...{ cost, startedAt, firstTokenMs: 90 + Math.floor(600 * chance() ** 2), durationMs: 900 + completionTokens * 14 },
  };
}

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  { name: 'portal-overview', path: '/' },
  { name: 'portal-usage', path: '/usage?range=30d' },
  { name: 'portal-keys', path: '/keys?workspace=search' },
  {
    ...{ name: 'portal-request', path: '/requests' },
    prepare: async (page) => {
      await page.getByRole('rowheader').getByRole('link').first().click();
      await page.getByRole('dialog').getByText('Copy').first().waitFor();
    },
  },
];

await needPrograms('Chromium');
const data = mkdtempSync(join(tmpdir(), 'weir-pictures-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(data, { recursive: true, force: true }));
await fill(join(data, 'weir.db'), seededChance(7));
const { gateway, portal, token, browser } = await startPortal(stack, { data });
await (await chat(gateway, { stream: true })).text();
const page = await browser.newPage({ baseURL: portal, viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
await page.goto(`/#token=${token}`);
await page.getByRole('heading', { level: 1 }).waitFor();
for (const { name, path, prepare } of pictures) {
  await page.goto(path, { waitUntil: 'networkidle' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction("document.querySelector('[aria-label=Loading]') === null");
  await prepare?.(page);
  await page.screenshot({
    path: join(import.meta.dirname, '..', 'docs', 'pictures', `${name}.png`),
    animations: 'disabled',
  });
  console.log(`docs/pictures/${name}.png`);
}
