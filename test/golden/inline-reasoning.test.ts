/** What a running engine writes between tags, byte by byte as it comes, read as the same engine reporting in a field. */
import { describe, expect, it } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import type { AnswerEvent } from '../../src/core/event.ts';
import { type InlineReasoning, tagSets } from '../../src/core/capability.ts';
import { sample } from '../support/sweep.ts';
import { readResponseAs } from '../../src/gateway/dialects/engine/read-response.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));

interface Asked {
  readonly stream: boolean;
  readonly n: number;
}

/** The text and the reasoning of each choice. */
async function read(behaviour: BehaviourInput, { stream, n }: Asked, inline?: InlineReasoning) {
  engine.reset();
  engine.set({ words: 9, reasoningWords: 8, ...behaviour });
  const response = await fetch(`${engine.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Why is the sky blue?' }], stream, n }),
  });
  const reader = readResponseAs(response.headers.get('content-type') ?? '', {
    ...{ toolNames: new Set<string>(), newToolId: () => '', choices: n },
    ...(inline === undefined ? {} : { reasoning: inline }),
  });
  if (reader === undefined || response.body === null) throw new Error(`nothing to read: ${response.status}`);
  const events: AnswerEvent[] = [];
  for await (const bytes of response.body) events.push(...reader.push(bytes).events);
  const last = reader.end();
  expect(last.state).toBe('complete');
  events.push(...last.events);
  const join = (type: AnswerEvent['type'], choice: number): string =>
    events.map((event) => ('deltas' in event && event.type === type && event.choice === choice ? event.text : '')).join('');
  return Array.from({ length: n }, (_, choice) => ({
    text: join('text-delta', choice),
    reasoning: join('reasoning-delta', choice),
  }));
}

const shapes = [
  ['think', tagSets.think, false],
  ['think-implicit', tagSets.think, true],
  ['kimi', tagSets.kimi, false],
  ['bracket', tagSets.bracket, false],
  ['gemma', tagSets.gemma, false],
  ['harmony', tagSets.harmony, false],
] as const;

const asks = [
  { stream: true, n: 1 },
  { stream: true, n: 3 },
  { stream: false, n: 1 },
  { stream: false, n: 3 },
];
const paces = [{ chunkBytes: 1 }, {}, { eventsPerWrite: 1000 }, { deltaTokens: 3 }];

describe.each(sample(asks, 2))('reasoning inside the text of an engine, %j,', (asked) => {
  it.each(shapes)('is told from it by its tags: %s', async (reasoningField, tags, implicitOpen) => {
    const straight = await read({}, asked);
    for (const { reasoning, text } of straight) expect([reasoning, text]).not.toContain('');
    for (const reasoningChunks of ['separate', 'mixed', 'split-tags'] as const) {
      for (const pace of sample(paces, 3)) {
        const said = await read({ reasoningField, reasoningChunks, ...pace }, asked, { tags: [tags], implicitOpen });
        expect(said, `${reasoningChunks} ${JSON.stringify(pace)}`).toEqual(straight);
      }
    }
  });

  it('is left in it on a route that is not said to use tags', async () => {
    for (const { text, reasoning } of await read({ reasoningField: 'think' }, asked)) {
      expect(text.startsWith('<think>')).toBe(true);
      expect(reasoning).toBe('');
    }
  });
});
