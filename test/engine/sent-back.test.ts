import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chatSurfaces } from '../../src/core/dialect.ts';
import { type Kept, keptOf, rows, sentToEngine } from '../golden/kept-answers.ts';
import { startLlama } from '../support/llama.ts';
import { forFile } from '../support/for-file.ts';

// Every golden answer of every surface, whole, cut, refused or interrupted, is a conversation that a real llama-server goes on with.

const template = ['--chat-template-file', join(import.meta.dirname, 'history-template.jinja')];
const llama = await forFile(startLlama({ contextLength: 16_384, extra: template }));

/** The answer of the engine to the next request, if it is a refusal. */
async function refusalOf(surface: (typeof chatSurfaces)[number], kept: Kept): Promise<string | undefined> {
  const body = { ...sentToEngine(surface, kept, 'llamacpp'), stream: false, max_tokens: 1 };
  const answer = await fetch(`${llama.url}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { connection: 'close' }, body: JSON.stringify(body) },
  });
  const text = await answer.text();
  return answer.status === 200 ? undefined : `${answer.status} ${text}`;
}

test.each(chatSurfaces)('an answer on %s that is sent back is served', async (surface) => {
  const refusals: string[] = [];
  let asked = 0;
  for (const row of rows.filter(([, of]) => of === surface)) {
    const { streamed, whole } = keptOf(row);
    for (const kept of whole === undefined ? [streamed] : [streamed, whole]) {
      const refusal = await refusalOf(surface, kept);
      asked += 1;
      if (refusal !== undefined) refusals.push(`${row.join(' ')}: ${refusal}`);
    }
  }
  expect(refusals).toEqual([]);
  expect(asked).toBeGreaterThan(100);
});

const call = {
  ...{ role: 'assistant', content: null },
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
};

test.each([
  ['a call without a result', [call, { role: 'user', content: 'Go on.' }]],
  ['a result without a call', [{ role: 'tool', tool_call_id: 'a', content: 'Low.' }]],
  ['a part with a refusal', [{ role: 'user', content: [{ type: 'refusal', refusal: 'No.' }] }]],
])('%s would be refused without the gateway', async (_, messages) => {
  const answer = await fetch(`${llama.url}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { connection: 'close' }, body: JSON.stringify({ messages, max_tokens: 1 }) },
  });
  await answer.text();
  expect(answer.status).not.toBe(200);
});
