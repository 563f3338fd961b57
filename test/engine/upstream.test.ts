import { expect, test } from 'vitest';
import { startLlama } from '../support/llama.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// What somebody with llama.cpp running does first: npm start -- --upstream URL.

const llama = await forFile(startLlama());
const weir = await forFile(
  startWeir({
    flags: ['--upstream', llama.url, '--price', '0.0000001,0.0000002'],
    secrets: ['tiny.gguf', 'llama', String(llama.port), 'timings', 'fp_', 'b0-unknown'],
  }),
);
const model = (await weir.client().models.list()).data[0]?.id ?? '';

const ask = (more: object = {}) => ({
  model,
  messages: [{ role: 'user' as const, content: `the tide ${canary}` }],
  max_tokens: 16,
  temperature: 0,
  ...more,
});

/** What the engine says when asked directly. */
async function directly(
  body: object,
): Promise<{ choices: { message: { content: string } }[]; usage: Record<string, number> }> {
  const response = await fetch(`${llama.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return (await response.json()) as { choices: { message: { content: string } }[]; usage: Record<string, number> };
}

test('the models that are there are listed, with the window that one request really has', async () => {
  const { data } = await weir.client().models.list();
  expect(data).toEqual([expect.objectContaining({ id: 'local/tiny', object: 'model', context_length: 1024 })]);
});

test('a chat is what the engine says, with its usage and the exact cost', async () => {
  const direct = await directly(ask());
  const answer = await weir.client().chat.completions.create(ask());
  expect(answer.model).toBe(model);
  expect(answer.choices[0]?.message.content).toBe(direct.choices[0]?.message.content);
  expect(answer.choices[0]?.finish_reason).toBe('length');
  expect(answer.usage).toMatchObject({
    prompt_tokens: direct.usage['prompt_tokens'],
    completion_tokens: 16,
    total_tokens: direct.usage['total_tokens'],
  });
  const { cost, prompt_tokens: prompt } = answer.usage as unknown as { cost: number; prompt_tokens: number };
  expect(cost).toBeCloseTo(prompt * 1e-7 + 16 * 2e-7, 12);
});

test('a stream is the same text, and its usage the same', async () => {
  const whole = await weir.client().chat.completions.create(ask());
  const stream = weir.client().chat.completions.stream(ask({ stream_options: { include_usage: true } }));
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  expect(final.usage).toMatchObject({ completion_tokens: 16, prompt_tokens: whole.usage?.prompt_tokens });
});

async function busySlots(): Promise<number> {
  const slots = (await (await fetch(`${llama.url}/slots`)).json()) as { is_processing: boolean }[];
  return slots.filter(({ is_processing: busy }) => busy).length;
}

/** On a busy machine the engine has at times written all of its answer before the caller leaves: that does not count. */
const maxTries = 10;

test('a caller who leaves frees the engine within a second, and pays for what came', async () => {
  let row: Record<string, unknown> | undefined;
  for (let tries = 0; tries < maxTries && row?.['outcome'] !== 'cancelled'; tries += 1) {
    const controller = new AbortController();
    const stream = await weir
      .client()
      .chat.completions.create({ ...ask({ max_tokens: 900 }), stream: true }, { signal: controller.signal });
    for await (const { choices } of stream) if (choices[0]?.delta.content) controller.abort();
    await expect.poll(busySlots).toBe(0);
    await weir.settled();
    [row] = await weir.ledger();
  }
  expect(row).toMatchObject({ outcome: 'cancelled' });
  expect(Number(row?.['completion_tokens'])).toBeGreaterThan(0);
});

test('a prompt beyond the window is refused as the contract says', async () => {
  const response = await weir.chat(ask({ messages: [{ role: 'user', content: 'x '.repeat(6000) }] }));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 'context_length_exceeded', type: 'invalid_request_error' },
  });
});
