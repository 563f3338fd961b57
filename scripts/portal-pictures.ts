// Takes the picture of the portal's usage in docs/portal.md: `node scripts/portal-pictures.ts`. The month in it is made up and ends
// today; the same day gives the same picture.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Outcome } from '../src/core/account.ts';
import { parseUsd } from '../src/core/money.ts';
import { createKey } from '../src/store/accounts/keys.ts';
import { openDatabase } from '../src/store/databases/open-database.ts';
import { settleBatch } from '../src/store/ledger/settle-batch.ts';
import { createWorkspace } from '../src/store/accounts/workspaces.ts';
import { chanceFrom } from '../test/support/chance.ts';
import { findOrInstall } from '../test/support/debian-package.ts';
import { start } from '../test/support/start.ts';

const dayMs = 24 * 3_600_000;
const days = 30;
/** Billionths of a USD per token of prompt and output, share of the requests, and what the first token usually takes. */
const models = [
  { id: 'qwen/qwen3-235b-a22b', prompt: 220n, output: 880n, share: 0.3, firstMs: 310 },
  { id: 'deepseek/deepseek-v3.1', prompt: 270n, output: 1_100n, share: 0.22, firstMs: 420 },
  { id: 'moonshotai/kimi-k2', prompt: 600n, output: 2_500n, share: 0.08, firstMs: 560 },
  { id: 'openai/gpt-oss-120b', prompt: 100n, output: 500n, share: 0.25, firstMs: 190 },
  { id: 'qwen/qwen3-8b', prompt: 40n, output: 160n, share: 0.15, firstMs: 120 },
] as const;
const chance = chanceFrom(17);

function requestOf(owner: Pick<Outcome, 'workspaceId' | 'keyId'>, number: number, startedAt: number): Outcome {
  const thrown = chance.next();
  let below = 0;
  const model = models.find(({ share }) => (below += share) > thrown) ?? models[0];
  const promptTokens = 400 + chance.below(6_000);
  const completionTokens = 80 + chance.below(900);
  const firstTokenMs = Math.round(model.firstMs * (0.6 + chance.next() + (chance.is(0.06) ? 4 * chance.next() : 0)));
  return {
    ...{ ...owner, requestId: `picture-${number}`, correlationId: `picture-${number}`, modelId: model.id },
    ...{ surface: 'chat', stream: true, kind: 'completed', countedBy: 'engine', attempts: 1 },
    usage: { promptTokens, completionTokens, cachedTokens: chance.below(promptTokens) },
    cost: (BigInt(promptTokens) * model.prompt + BigInt(completionTokens) * model.output) * 1_000n,
    ...{ startedAt, firstTokenMs, durationMs: firstTokenMs + completionTokens * 12 },
  };
}

/** A month of a team: more on working days, and more each week. */
async function fill(file: string): Promise<void> {
  const database = await openDatabase({ kind: 'sqlite', file }, { missing: 'create', user: 'operator' });
  const { queries } = database;
  const by = { actor: { kind: 'command-line', name: 'picture' }, now: Date.now() } as const;
  const credit = parseUsd('250') ?? 0n;
  const { id: workspaceId } = await createWorkspace(queries, { name: 'web', credit, maxInFlight: 64 }, by);
  const { key } = await createKey(queries, { workspace: 'web', rate: 10, burst: 10, name: 'Web site' }, by);
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  let number = 0;
  for (let day = 1; day <= days; day += 1) {
    const from = today - (days - day) * dayMs;
    const isWeekend = [0, 6].includes(new Date(from).getUTCDay());
    const count = Math.round((500 + day * 14) * (isWeekend ? 0.35 : 1) * (0.85 + 0.3 * chance.next()));
    const length = Math.min(dayMs, Date.now() - from);
    const rows = Array.from({ length: Math.ceil((count * length) / dayMs) }, () =>
      requestOf({ workspaceId, keyId: key.id }, (number += 1), from + chance.below(length)),
    );
    await settleBatch(database, rows);
  }
  await database.close();
}

const data = mkdtempSync(join(tmpdir(), 'weir-pictures-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(data, { recursive: true, force: true }));
await fill(join(data, 'weir.db'));
const gateway = await start([], { data, portal: true, env: { WEIR_ADMIN_PORT: '0', WEIR_OPS_PORT: '0' } });
stack.defer(async () => void (await gateway.stop()));
const [, address = '', hash = ''] = /^portal: +(\S+?)\/(#token=\S+)$/m.exec(gateway.stdout()) ?? [];
const executablePath = await findOrInstall({ program: 'chromium', package: 'chromium' });
const browser = await chromium.launch({ executablePath });
stack.defer(() => browser.close());
const context = await browser.newContext({
  ...{ baseURL: address, viewport: { width: 1280, height: 800 }, colorScheme: 'light', locale: 'en-US' },
});
const page = await context.newPage();
await page.goto(`/usage?range=30d&workspace=web${hash}`);
await page.locator('canvas').nth(3).waitFor();
await page.evaluate('document.fonts.ready');
await page.screenshot({ path: join(import.meta.dirname, '..', 'docs', 'pictures', 'portal-usage.png') });
