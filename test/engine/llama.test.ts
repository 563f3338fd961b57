import { expect, test } from 'vitest';
import { z } from 'zod';
import { startLlama } from '../support/llama.ts';

// What the suites of this folder stand on: a real engine that answers the same way every time.

const answer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })).length(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }),
});

async function ask(url: string): Promise<z.infer<typeof answer>> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { connection: 'close' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'the tide' }], max_tokens: 12, temperature: 0 }),
  });
  expect(response.status).toBe(200);
  return answer.parse(await response.json());
}

test('two engines with the same model give the same answer at temperature 0', async () => {
  const [first, second] = await Promise.all([startLlama(), startLlama()]);
  try {
    const [one, other] = await Promise.all([ask(first.url), ask(second.url)]);
    expect(one.choices[0]?.message.content).toMatch(/^[!-~]{6,}/);
    expect(one.usage.completion_tokens).toBe(12);
    expect(other).toEqual(one);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

test('a killed engine refuses connections and comes back on the same port', async () => {
  const first = await startLlama();
  await first.kill();
  await expect(ask(first.url)).rejects.toThrow('fetch failed');
  const second = await startLlama({ port: first.port });
  try {
    expect(second.url).toBe(first.url);
    await ask(second.url);
  } finally {
    await second.close();
  }
});

test('an engine that cannot start says why', async () => {
  await expect(startLlama({ extra: ['--no-such-option'] })).rejects.toThrow(/--no-such-option/);
});
