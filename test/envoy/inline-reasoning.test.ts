import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

// The same answer from an engine that reports its reasoning in a field and from one that writes it into the text: a
// caller cannot tell which one answered.

const kinds = [
  ['think', '{tags: [think]}'],
  ['think-implicit', '{tags: [think], implicitOpen: true}'],
  ['kimi', '{tags: [kimi]}'],
  ['bracket', '{tags: [bracket]}'],
  ['gemma', '{tags: [gemma]}'],
  ['harmony', '{tags: [harmony]}'],
] as const;

const engines = new Map<string, ProgrammableEngine>();
let weir: Weir;

beforeAll(async () => {
  const parts: string[] = [];
  for (const [kind, inline] of [['reasoning_content', ''], ...kinds] as const) {
    const engine = await startProgrammableEngine({
      name: `demo-${kind}`,
      behaviour: { reasoningField: kind, reasoningWords: 20 },
    });
    engines.set(kind, engine);
    const model = modelManifest(`test/${kind.replace('_', '-')}`, [kind.replace('_', '-')]);
    const told =
      inline === '' ? model : model.replace('weight: 1000', `weight: 1000, capabilities: {inlineReasoning: ${inline}}`);
    parts.push(backendManifest(kind.replace('_', '-'), engine), told);
  }
  weir = await startWeir({ manifests: { 'catalog.yaml': parts.join('') } });
});
afterAll(async () => {
  await weir.close();
  for (const engine of engines.values()) await engine.close();
});

async function answer(model: string, stream: boolean) {
  const completions = weir.client().chat.completions;
  const request = { model: `test/${model}`, messages: [{ role: 'user' as const, content: '[[words=30]] rivers' }] };
  const { choices } = stream
    ? await completions.stream(request).finalChatCompletion()
    : await completions.create(request);
  const message = choices[0]?.message as unknown as { content: string; reasoning: string; reasoning_content: string };
  return { content: message.content, reasoning: message.reasoning, reasoning_content: message.reasoning_content };
}

test.each(kinds.flatMap(([kind]) => [[kind, false] as const, [kind, true] as const]))(
  '%s, stream: %s: both fields hold the trace, and the text is free of it',
  async (kind, stream) => {
    const expected = await answer('reasoning-content', false);
    expect(expected.reasoning).not.toBe('');
    if (!stream) {
      expect(await answer(kind, false)).toEqual(expected);
      return;
    }
    // The stream helper keeps only the last piece of a field it does not know, so the text alone is compared here.
    expect((await answer(kind, true)).content).toBe(expected.content);
    const raw = await (
      await weir.chat({
        model: `test/${kind}`,
        stream: true,
        messages: [{ role: 'user', content: '[[words=30]] rivers' }],
      })
    ).text();
    const deltas = [...raw.matchAll(/"reasoning_content":"((?:[^"\\]|\\.)*)","reasoning":"((?:[^"\\]|\\.)*)"/g)];
    expect(deltas.map(([, one]) => JSON.parse(`"${one}"`) as string).join('')).toBe(expected.reasoning);
    for (const [, one, other] of deltas) expect(one).toBe(other);
  },
);
