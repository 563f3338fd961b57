/** A vLLM with room for two requests and a small KV cache: it queues, and takes requests back when the cache is full. */
import { expect, it } from 'vitest';
import { startVllm } from '../support/vllm.ts';
import { askTiny as ask, vllmManifests } from '../support/vllm-catalog.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// 2 layers, 2 heads of 32 numbers, keys and values, 2 bytes each: 512 bytes a token, so 1,228 tokens.
const vllm = await forFile(
  startVllm({ contextLength: 1024, maxRequests: 2, extra: ['--num-gpu-blocks-override', '10'] }),
);
const weir = await forFile(startWeir({ unlimited: true, manifests: { 'catalog.yaml': vllmManifests([vllm]) } }));

const say = (index: number, tokens: number) =>
  weir.client().chat.completions.create({
    ...ask({ max_tokens: tokens }),
    messages: [{ role: 'user' as const, content: `request ${index} please` }],
  });

it('requests beyond its room wait there, and all are answered', async () => {
  const asked = Promise.all(Array.from({ length: 6 }, (_, index) => say(index, 60)));
  let mostRunning = 0;
  let maxWaiting = 0;
  let isOver = false;
  void asked.finally(() => (isOver = true));
  while (!isOver) {
    mostRunning = Math.max(mostRunning, await vllm.metric('vllm:num_requests_running'));
    maxWaiting = Math.max(maxWaiting, await vllm.metric('vllm:num_requests_waiting'));
  }
  const answers = await asked;
  expect(mostRunning).toBeLessThanOrEqual(2);
  expect(maxWaiting).toBeGreaterThan(0);
  for (const { choices, usage } of answers) {
    expect(choices[0]?.finish_reason).toBe('length');
    expect(choices[0]?.message.content).toHaveLength(60);
    expect(usage?.completion_tokens).toBe(60);
  }
});

it('a request that was taken back for want of cache is answered whole, and billed once', async () => {
  const before = await vllm.metric('vllm:num_preemptions_total');
  const answers = await Promise.all([say(1, 700), say(2, 700)]);
  for (const { choices, usage } of answers) {
    expect(choices[0]?.message.content).toHaveLength(700);
    expect(usage?.completion_tokens).toBe(700);
  }
  expect(await vllm.metric('vllm:num_preemptions_total')).toBeGreaterThan(before);
});
