/** Images through the whole gateway to a vLLM whose model takes them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeVisionModel, startVllm, type Vllm } from '../support/vllm.ts';
import { vllmManifests } from '../support/vllm-catalog.ts';
import { startWeir, type Weir } from '../support/weir.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-vision-'));
let vllm: Vllm;
let weir: Weir;

beforeAll(async () => {
  await makeVisionModel(folder);
  vllm = await startVllm({
    ...{ model: folder, toolParser: 'none', reasoningParser: 'none' },
    extra: ['--limit-mm-per-prompt', '{"image": 2, "video": 0}', '--skip-mm-profiling'],
  });
  const catalog = vllmManifests([vllm], { modalities: '[text, image]' });
  weir = await startWeir({ unlimited: true, manifests: { 'catalog.yaml': catalog } });
});
afterAll(async () => {
  await weir?.close();
  await vllm?.close();
  rmSync(folder, { recursive: true });
});

/** 56 by 56 pixels of one colour. */
const red =
  'iVBORw0KGgoAAAANSUhEUgAAADgAAAA4CAIAAAAn5KxJAAAAQ0lEQVR42u3OQQkAAAgEsEty/aMYy4cphMECLNO+EFFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFR0bN+SnG1YZXy7gAAAABJRU5ErkJggg==';
const url = `data:image/png;base64,${red}`;
/** Tokens of such an image, with the two markers beside it. */
const imageTokens = 6;

const ask = (images: readonly string[]) => ({
  ...{ model: 'test/tiny', max_tokens: 8, temperature: 0 },
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'what is it' },
        ...images.map((image) => ({ type: 'image_url' as const, image_url: { url: image } })),
      ],
    },
  ],
});
const answer = (images: readonly string[]) => weir.client().chat.completions.create(ask(images));

it('an image is part of the prompt, and of its bill', async () => {
  const [none, one, two] = await Promise.all([answer([]), answer([url]), answer([url, url])]);
  const prompt = none.usage?.prompt_tokens ?? 0;
  expect(one.usage?.prompt_tokens).toBe(prompt + imageTokens);
  expect(two.usage?.prompt_tokens).toBe(prompt + 2 * imageTokens);
  expect(one.choices[0]?.message.content).not.toBe(none.choices[0]?.message.content);
});

it('a stream has the answer of a whole one', async () => {
  const whole = await answer([url]);
  const streamed = await weir
    .client()
    .chat.completions.stream(ask([url]))
    .finalChatCompletion();
  expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
});

it('a message may have an image, too', async () => {
  const message = await weir.messagesClient().messages.create({
    ...{ model: 'test/tiny', max_tokens: 8, temperature: 0 },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: red } },
        ],
      },
    ],
  });
  const { usage } = await answer([url]);
  expect(message.usage.input_tokens + (message.usage.cache_read_input_tokens ?? 0)).toBe(usage?.prompt_tokens);
});

it.each([
  ['more images than the server takes', [url, url, url]],
  ['what is no image', ['data:image/png;base64,AAAA']],
])('%s: the caller gets a 400 without words of the engine', async (_, images) => {
  const response = await weir.chat(ask(images));
  const text = await response.text();
  expect(response.status).toBe(400);
  expect(text).toContain('invalid_request_error');
  expect(text).not.toMatch(/At most 2|identify image/);
});
