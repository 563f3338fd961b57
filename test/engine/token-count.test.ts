import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startThread } from '../../src/process/worker-thread.ts';
import { startTokenizers } from '../../src/gateway/tokenizer/start-tokenizers.ts';
import { startLlama } from '../support/llama.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// test/engine/tokenizers/tiny is the vocabulary and the template of the real engine's model, in the format that models
// are published with. What we count must be what the engine counts.

const root = join(import.meta.dirname, 'tokenizers');

const llama = await forFile(startLlama({ parallel: 1 }));
const tokenizers = await forFile(startTokenizers({ root, startThread }));
const load = await tokenizers.load('tiny');
if (load.kind !== 'loaded') throw new Error(load.problem.message);

type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };

async function theirs(messages: readonly Message[]): Promise<number> {
  const response = await fetch(`${llama.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ messages, max_tokens: 1 }),
  });
  const { usage } = (await response.json()) as { usage: { prompt_tokens: number } };
  return usage.prompt_tokens;
}

const user = (content: string): Message => ({ role: 'user', content });

it.each<readonly [string, readonly Message[]]>([
  ['a word', [user('hello')]],
  ['merges', [user('the tide to the other theme')]],
  [
    'several turns',
    [{ role: 'system', content: 'be brief' }, user('a'), { role: 'assistant', content: 'b' }, user('the c')],
  ],
  ['spaces and lines', [user('  two  spaces\n\n\tand\r\nlines   ')]],
  ['numbers and signs', [user("it's 12,345.67 % of $9 -- (or not)?! #tag @you")]],
  ['other scripts', [user('Größe 日本語 مرحبا 👩‍👩‍👧 e\u0301')]],
  ['special tokens in the text', [user('</s> <s> <unk> <|x|>')]],
  ['a long text', [user('all the things that the others thought of them '.repeat(40))]],
])('the prompt has as many tokens for us as for the engine: %s', async (_, messages) => {
  const ask = { want: 'count', limit: 100_000 } as const;
  const ours = await tokenizers.countPrompt('tiny', { messages, tools: [], templateArguments: {} }, ask);
  expect(ours).toEqual({ kind: 'counted', tokens: await theirs(messages) });
});

it('a prompt that fills the window to the last token is served, and one token more is refused before the engine sees it', async () => {
  const messages = [user('x y z the quick brown fox '.repeat(10))];
  const tokens = await theirs(messages);
  const cap = 5;
  const manifest = `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: llama}
spec: {engine: llamacpp, endpoint: {host: 127.0.0.1, port: ${llama.port}, path: /v1}}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: tiny}
spec:
  id: test/tiny
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: ${tokens + cap}
  tokenizer: {path: tiny}
  pricing: {prompt: "0.0000001", completion: "0.0000002"}
  routes: [{backend: llama, upstreamModel: tiny}]
`;
  const weir = await startWeir({ manifests: { 'catalog.yaml': manifest }, env: { WEIR_TOKENIZERS: root } });
  try {
    const status = async (max_tokens: number): Promise<string> => {
      const response = await weir.chat({ model: 'test/tiny', messages, max_tokens });
      const { error } = (await response.json()) as { error?: { code: string } };
      return `${response.status} ${error?.code ?? 'ok'}`;
    };
    expect(await status(cap)).toBe('200 ok');
    expect(await status(cap + 1)).toBe('400 context_length_exceeded');
  } finally {
    await weir.close();
  }
});
