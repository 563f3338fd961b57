import { chanceFrom } from '../../test/support/chance.ts';
import type { PoolPrompt } from '../../src/core/pool-prompt.ts';
import { createEndpointPool } from '../../src/gateway/routing/pool/pool.ts';
import { blockContents } from '../../src/gateway/core/prompt-text.ts';
import { poolPromptOf, promptBlocks } from '../../src/gateway/routing/pool/prompt-blocks.ts';
import { alignTable } from '../table.ts';
import { quantile } from './run.ts';

/** Prompts of 32,000 tokens, on 64 endpoints that hold the beginnings of some, with work under way on each. */
const size = { endpoints: 64, prompts: 512, tokens: 32_000, characters: 128 * 1024, shared: 64 * 1024 } as const;
const runs = 20_000;
/** Runs before the first that counts. */
const warm = 2_000;

const prompts = Array.from({ length: size.prompts }, (_, number) => textOf(number));
const among = Array.from({ length: size.endpoints }, (_, number) => ({ name: `endpoint-${number}`, success: 1 }));

/** The prompts have one of eight beginnings. */
function textOf(number: number): string {
  return letters(number % 8, size.shared) + letters(1000 + number, size.characters - size.shared);
}

function letters(seed: number, count: number): string {
  const chance = chanceFrom(seed);
  return Array.from({ length: count }, () => String.fromCodePoint(97 + Math.floor(chance.next() * 26))).join('');
}

const promptOf = (text: string): PoolPrompt =>
  poolPromptOf(promptBlocks(blockContents(text), { secret: 'secret', scope: 'scope' }), size.tokens);

/** Ascending. */
function microseconds(work: (run: number) => unknown): readonly number[] {
  const times: number[] = [];
  for (let run = 0; run < warm + runs; run += 1) {
    const from = process.hrtime.bigint();
    work(run);
    if (run >= warm) times.push(Number(process.hrtime.bigint() - from) / 1000);
  }
  return times.toSorted((a, b) => a - b);
}

/** What the choice of an endpoint costs: the digests of a prompt, and the pick. */
export function costTable(): string {
  const pool = createEndpointPool(undefined);
  const known = prompts.map((text) => promptOf(text));
  const promptAt = (run: number): PoolPrompt => known[run % known.length] ?? { digests: [], ends: [], tokens: 0 };
  const chance = chanceFrom(1);
  let now = 0;
  for (const [number, prompt] of known.entries()) {
    now += 10;
    const name = among[number % among.length]?.name ?? '';
    const attempt = pool.begin(now, { name, prompt, stream: true });
    // The last attempt of each endpoint is still under way.
    if (number >= known.length - among.length) continue;
    attempt.first(now + 80);
    attempt.completed(now + 100, 50);
  }
  const picks = microseconds((run) => pool.pick(now + run, { prompt: promptAt(run), among, turn: chance.next() }));
  const digests = microseconds((run) => promptOf(prompts[run % prompts.length] ?? ''));
  const row = (name: string, times: readonly number[]): readonly string[] => [
    name,
    ...[0.5, 0.99].map((share) => quantile(times, share).toFixed(1)),
  ];
  return alignTable([
    ['cost, µs', 'p50', 'p99'],
    row(`a pick among ${size.endpoints} endpoints, prompt of ${size.tokens} tokens`, picks),
    row(`the digests of ${size.characters / 1024} KiB`, digests),
  ]);
}
