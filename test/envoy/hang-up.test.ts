import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller } from './support/caller.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { writeEngineTokenizer } from './support/engine-tokenizer.ts';
import { putTogether } from './support/put-together.ts';
import { backendManifest, type LedgerRow, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// Whoever always hangs up just before the usage chunk has had all of the answer. He pays for it, whoever counts.

let caller: Caller;
const tokenizers = mkdtempSync(join(tmpdir(), 'weir-tokenizers-'));

afterAll(() => rmSync(tokenizers, { recursive: true }));
writeEngineTokenizer(tokenizers, 'demo');
const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const catalog = [
  ...[backendManifest('running', engine), backendManifest('at-the-end', engine, 'llamacpp')],
  modelManifest('test/running', ['running']),
  modelManifest('test/tokenizer', ['at-the-end'], '  tokenizer: {path: demo}'),
  modelManifest('test/nobody', ['at-the-end']),
];
const weir = await forFile(
  startWeir({
    ...{ manifests: { 'catalog.yaml': catalog.join('') }, unlimited: true },
    env: { WEIR_TOKENIZERS: tokenizers },
  }),
);
beforeEach(() => {
  engine.reset();
  caller = http1Caller(weir);
});
afterEach(() => caller.close());

const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
const text = 'Water finds its own level in the end';
const ask = (model: string, directives: object, stream = true): object => ({
  ...{ model, stream, reasoning_effort: 'none' },
  ...(stream ? { stream_options: { include_usage: true } } : {}),
  messages: [
    { role: 'user', content: `How? [[demo ${JSON.stringify({ content: text, cachedTokens: 0, ...directives })}]]` },
  ],
});

async function rowOf(mark: string): Promise<LedgerRow> {
  await weir.settled();
  const rows = (await weir.ledger()).filter((row) => row['correlation_id'] === mark);
  expect(rows).toHaveLength(1);
  return rows[0] ?? {};
}

describe.each([
  ['test/running', 'the engine while it streams', 'engine', 'exactly'],
  ['test/tokenizer', 'the model’s tokenizer', 'tokenizer', 'exactly'],
  ['test/nobody', 'nobody', 'estimate', 'about'],
] as const)('a caller of %s, where %s counts, who always hangs up before the usage chunk', (model, _, by, how) => {
  test.each([
    ['at the last piece of the text', (sent: string) => sent.includes(' end"')],
    ['at the finish', (sent: string) => sent.includes('"finish_reason":"stop"')],
  ])('%s, pays for the prompt and all of the text, each time', async (_when, isThen) => {
    const { usage } = putTogether((await caller.ask(ask(model, {}))).text());
    for (const turn of [1, 2, 3]) {
      const mark = `${model.replace('/', '-')}-${isThen('"finish_reason":"stop"') ? 'finish' : 'text'}-${turn}`;
      // Long after all of it, and before a stall that nobody would wait for.
      const directives = { deltaTokens: 1, stallAfterEvents: 10, stallMs: 60_000 };
      const open = caller.open(ask(model, directives), { headers: { 'x-request-id': mark } });
      await (await open.answer).until(isThen);
      open.leave();
      await engine.until(() => engine.openRequests() === 0);
      const row = await rowOf(mark);
      expect(row).toMatchObject({
        outcome: 'cancelled',
        counted_by: by,
        completion_tokens: usage['completion_tokens'],
      });
      if (how === 'exactly') expect(row['prompt_tokens']).toBe(usage['prompt_tokens']);
      else expect(row['prompt_tokens']).toBeGreaterThanOrEqual(Number(usage['prompt_tokens']));
      expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
      expect(picoUsd(row['cost'])).toBeGreaterThanOrEqual(picoUsd(String(usage['cost'])));
    }
  });
});

test.each([
  ['test/running', true, 'estimate'],
  ['test/running', false, 'estimate'],
  ['test/tokenizer', true, 'tokenizer'],
  ['test/nobody', true, 'estimate'],
] as const)('0 tokens reported by the engine of %s for a text are replaced (stream: %s)', async (model, stream, by) => {
  const mark = `zero-${model.replace('/', '-')}-${stream ? 'stream' : 'whole'}`;
  const answer = await caller.ask(ask(model, { usage: 'zeros' }, stream), { headers: { 'x-request-id': mark } });
  expect(answer.text()).toContain('end');
  const row = await rowOf(mark);
  expect(row).toMatchObject({ outcome: 'completed', counted_by: by });
  expect(row['prompt_tokens']).toBeGreaterThan(0);
  expect(row['completion_tokens']).toBeGreaterThan(0);
  expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
});
