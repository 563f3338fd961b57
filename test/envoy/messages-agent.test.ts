import { readFileSync } from 'node:fs';
import type Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

/** Thirty turns of a coding agent: what it is told, the tools it has, and what they answered (../support/agent-conversation.json). */
interface Conversation {
  readonly system: Anthropic.TextBlockParam[];
  readonly tools: Anthropic.Tool[];
  readonly turns: readonly {
    /** Tools that the model calls in this turn. */
    readonly calls: readonly string[];
    /** Answers to the calls of the turn before. */
    readonly results: readonly Pick<Anthropic.ToolResultBlockParam, 'content' | 'is_error'>[];
    /** What the user says besides; it names the tools, which is how the programmable engine knows. */
    readonly say: string;
  }[];
}

const file = new URL('./support/agent-conversation.json', import.meta.url);
const conversation = JSON.parse(readFileSync(file, 'utf8')) as Conversation;

// Eight hundred requests, the last of each conversation of 150 kB.
vi.setConfig({ testTimeout: 240_000 });

const toolQuirks = [
  ...(['index-missing', 'index-all-zero', 'index-from-one', 'index-jumps', 'index-restarts', 'whole-call'] as const),
  ...(['calls-in-one-chunk', 'arguments-object', 'arguments-null-first', 'arguments-empty-then-whole'] as const),
  ...(['id-missing', 'id-late', 'id-empty-on-continuation', 'head-repeated', 'name-split', 'name-late'] as const),
  ...(['name-null-on-continuation', 'type-missing', 'ids-duplicate', 'interleaved', 'trailing-empty'] as const),
  ...(['empty-content-first', 'finish-stop', 'finish-null', 'finish-with-last', 'rest-in-finish'] as const),
];
const usual: BehaviourInput = { words: 20, reasoningWords: 15, cachedTokens: 5, toolPreamble: true };
const behaviours: readonly (readonly [string, BehaviourInput])[] = [
  ['nothing unusual', {}],
  ...toolQuirks.map((quirk) => [quirk, { toolQuirk: [quirk] }] as const),
  ['mixed chunks', { reasoningChunks: 'mixed', deltaTokens: 3 }],
  ['another field for its thoughts', { reasoningField: 'reasoning' }],
];

let engine: ProgrammableEngine;
let weir: Weir;

beforeAll(async () => {
  const models = behaviours.map(([, behaviour], at) => ({
    id: `demo-chat-${at}`,
    behaviour: { ...usual, ...behaviour },
  }));
  engine = await startProgrammableEngine({ name: 'alpha', models });
  const manifest = behaviours.map((_, at) =>
    modelManifest(`test/m${at}`, ['backend-of-test-0']).replace(
      'upstreamModel: demo-chat',
      `upstreamModel: demo-chat-${at}`,
    ),
  );
  const backend = backendManifest('backend-of-test-0', engine);
  weir = await startWeir({
    engines: [engine],
    unlimited: true,
    manifests: { 'catalog.yaml': [backend, ...manifest].join('') },
  });
});
afterAll(async () => {
  await weir.close();
  await engine.close();
});

interface Turn {
  readonly content: readonly object[];
  readonly stop: string | null;
  readonly usage: object;
}

/** Has the conversation with a model, as an agent does: each answer goes back with the results of its calls. */
async function talk(model: string): Promise<readonly Turn[]> {
  const client = weir.messagesClient();
  const messages: Anthropic.MessageParam[] = [];
  const turns: Turn[] = [];
  let calls: readonly Anthropic.ToolUseBlock[] = [];
  for (const [at, { results, say }] of conversation.turns.entries()) {
    const answered = calls.map(({ id }, index): Anthropic.ToolResultBlockParam => ({
      ...{ type: 'tool_result', tool_use_id: id },
      ...results[index],
    }));
    messages.push({
      role: 'user',
      content: [...answered, { type: 'text', text: say, cache_control: { type: 'ephemeral' } }],
    });
    const { system, tools } = conversation;
    const message = await client.messages
      .stream({
        model,
        max_tokens: 32_000,
        system,
        tools,
        messages,
        thinking: { type: 'enabled', budget_tokens: 16_000 },
      })
      .finalMessage();
    // The programmable engine's words follow from the conversation, ids included, and ours are new each time.
    const answer = message.content.map((block, index) =>
      block.type === 'tool_use' ? { ...block, id: `toolu_${at}_${index}` } : block,
    );
    calls = answer.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ name }) => name).toSorted(), `turn ${at}`).toEqual(conversation.turns[at]?.calls.toSorted());
    messages.push({ role: 'assistant', content: answer });
    const content = answer.map((block) => (block.type === 'thinking' ? { ...block, signature: '' } : block));
    turns.push({ content, stop: message.stop_reason, usage: message.usage });
  }
  return turns;
}

let honest: readonly Turn[];
beforeAll(async () => {
  honest = await talk('test/m0');
});

test('thirty turns of an agent are had to their end, thinking and calls side by side', () => {
  expect(honest.map(({ stop }) => stop)).toEqual(
    conversation.turns.map(({ calls }) => (calls.length > 0 ? 'tool_use' : 'end_turn')),
  );
  for (const { content } of honest) expect(content[0]).toMatchObject({ type: 'thinking' });
  const last = engine.requests().at(-1)?.body as {
    readonly messages: readonly { readonly role: string; readonly reasoning?: string }[];
  };
  const assistants = last.messages.filter(({ role }) => role === 'assistant');
  expect(assistants).toHaveLength(29);
  const thoughts = honest.slice(0, -1).map(({ content }) => (content[0] as { readonly thinking: string }).thinking);
  expect(assistants.map(({ reasoning }) => reasoning)).toEqual(thoughts);
  expect(JSON.stringify(last).includes('"content":"Error: exit code 1')).toBe(true);
});

test.each(behaviours.slice(1).map(([name], at) => [name, at + 1] as const))(
  'and no less of an engine with %s',
  async (_, at) => {
    expect(await talk(`test/m${at}`)).toEqual(honest);
  },
);
