import { describe, expect, it } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// One engine that reports how much of a prompt it had in its cache, as an attacker would read it from the time to the first token.

const probes = 200;

const engine = await forFile(startProgrammableEngine({ name: 'engine', behaviour: { reasoning: 'never', words: 1 } }));
const backend = [
  'apiVersion: weir.dev/v1alpha1',
  'kind: Backend',
  'metadata: {name: engine}',
  `spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${engine.port}, path: /v1}}`,
  '---',
  '',
].join('\n');
const models =
  modelManifest('test/apart', ['engine']) + modelManifest('test/together', ['engine'], '  cacheSharing: All');
const env = { WEIR_CONNECTIONS_PER_ADDRESS: '0' };
const weir = await forFile(startWeir({ manifests: { 'catalog.yaml': backend + models }, unlimited: true, env }));
const own = ['--data', weir.data, '--json'];
await runWeir(['workspace', 'create', 'attacker', '--credit', '100', ...own]);
const roomy = ['--rate', '100000', '--burst', '100000'];
const { stdout } = await runWeir(['key', 'create', '--workspace', 'attacker', ...roomy, ...own]);
const { key: attacker } = JSON.parse(stdout) as { readonly key: string };

/** Tokens of a prompt that the engine had in its cache. */
async function cachedOf(model: string, key: string, content: string): Promise<number> {
  const body = {
    model,
    messages: [
      { role: 'system', content },
      { role: 'user', content: 'go' },
    ],
    cache_salt: 'mine',
  };
  const response = await weir.chat(body, { authorization: `Bearer ${key}` });
  expect(response.status).toBe(200);
  const { usage } = (await response.json()) as {
    readonly usage: { readonly prompt_tokens_details?: { readonly cached_tokens: number } };
  };
  return usage.prompt_tokens_details?.cached_tokens ?? 0;
}

/**
 * How well an attacker tells prompts that the victim has sent from others, as the area under the curve of hits against false alarms: 1
 * for each pair of them in the right order, one half where they look the same.
 */
async function attack(model: string): Promise<number> {
  const text = (kind: string, number: number): string => `${kind} ${model} ${number} ${'and so on '.repeat(20)}`;
  const sent: number[] = [];
  const unsent: number[] = [];
  for (let number = 0; number < probes / 2; number += 1) {
    await cachedOf(model, weir.key, text('secret', number));
    sent.push(await cachedOf(model, attacker, text('secret', number)));
    unsent.push(await cachedOf(model, attacker, text('guess', number)));
  }
  const wins = sent.flatMap((one) => unsent.map((other) => (one > other ? 1 : one === other ? 0.5 : 0)));
  return wins.reduce<number>((sum, win) => sum + win, 0) / wins.length;
}

describe('an attacker in another workspace', () => {
  it('cannot tell what was sent by the cache of a model whose workspaces are apart', async () => {
    expect(await attack('test/apart')).toBeLessThanOrEqual(0.55);
  });

  it('can tell it where all workspaces share the cache', async () => {
    expect(await attack('test/together')).toBeGreaterThanOrEqual(0.95);
  });

  it('leaves the cache of a workspace as it is: the same prompt is found again', async () => {
    for (const model of ['test/apart', 'test/together']) {
      const text = `its own, of ${model} ${'and so on '.repeat(20)}`;
      expect(await cachedOf(model, weir.key, text)).toBe(0);
      expect(await cachedOf(model, weir.key, text)).toBeGreaterThan(40);
    }
  });
});
