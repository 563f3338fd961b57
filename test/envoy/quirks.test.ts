/**
 * Everything that real engines do differently, through a real gateway, as two clients see it: the official `openai` package
 * and the Vercel AI SDK. Neither may be able to tell which engine answered.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, streamText, tool, type ToolSet } from 'ai';
import type OpenAI from 'openai';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { refusalOf } from './support/refusal.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
// One key asks some three hundred times here, within a second or two on a quick machine.
const weir = await forFile(startWeir({ engines: [engine], unlimited: true }));
beforeEach(() => engine.reset());

interface Call {
  readonly name: string;
  readonly arguments: unknown;
}

/** What a client has in the end. */
interface Message {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Call[];
  readonly finish: string;
}

interface Question {
  readonly prompt: string;
  readonly tools?: boolean;
}

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, days: { type: 'integer' as const } },
  required: ['city'],
};
const toolNames = ['get_weather', 'get_time'];

const request = ({ prompt, tools = false }: Question) => ({
  model: 'test/model',
  messages: [{ role: 'user' as const, content: `${canary} ${prompt}` }],
  ...(tools ? { tools: toolNames.map((name) => ({ type: 'function' as const, function: { name, parameters } })) } : {}),
});

/** The ids that clients answer calls with: ours, each its own. */
function expectIds(ids: readonly (string | undefined)[]): void {
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^call_[\w-]{22,}$/);
}

function callsOf(message: OpenAI.ChatCompletionMessage | undefined): readonly Call[] {
  const calls = (message?.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
    return { id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown };
  });
  expectIds(calls.map(({ id }) => id));
  return calls.map(({ id: _, ...call }) => call);
}

type Traced = { readonly reasoning?: string; readonly reasoning_content?: string } | undefined;

/** The trace, which must stand in both fields alike. */
function traceOf(message: Traced): string {
  expect(message?.reasoning).toBe(message?.reasoning_content);
  return message?.reasoning ?? '';
}

async function openaiStream(question: Question): Promise<Message> {
  const stream = weir.client().chat.completions.stream(request(question));
  // The helper keeps only the last piece of a field it does not know.
  let reasoning = '';
  stream.on('chunk', (chunk) => {
    reasoning += traceOf(chunk.choices[0]?.delta as Traced);
  });
  const [choice] = (await stream.finalChatCompletion()).choices;
  return {
    ...{ text: choice?.message.content ?? '', reasoning, calls: callsOf(choice?.message) },
    finish: choice?.finish_reason ?? '',
  };
}

async function openaiWhole(question: Question): Promise<Message> {
  const [choice] = (await weir.client().chat.completions.create(request(question))).choices;
  return {
    ...{ text: choice?.message.content ?? '', reasoning: traceOf(choice?.message as Traced) },
    ...{ calls: callsOf(choice?.message), finish: choice?.finish_reason ?? '' },
  };
}

const vercelTools: ToolSet = Object.fromEntries(
  toolNames.map((name) => [name, tool({ inputSchema: jsonSchema(parameters) })] as const),
);

const vercelOptions = ({ prompt, tools = false }: Question) => {
  const provider = createOpenAICompatible({ name: 'weir', baseURL: weir.baseUrl, apiKey: weir.key, fetch: weir.fetch });
  return {
    ...{ model: provider('test/model'), prompt: `${canary} ${prompt}`, maxRetries: 0 },
    tools: tools ? vercelTools : {},
  };
};

interface VercelCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly invalid?: boolean | undefined;
}

/** Words of the AI SDK, in those of the wire. */
function fromVercel(
  text: string,
  reasoning: string | undefined,
  calls: readonly VercelCall[],
  finish: string,
): Message {
  expectIds(calls.map(({ toolCallId }) => toolCallId));
  expect(calls.filter(({ invalid }) => invalid === true)).toEqual([]);
  return {
    ...{ text, reasoning: reasoning ?? '', finish: finish.replaceAll('-', '_') },
    calls: calls.map(({ toolName, input }) => ({ name: toolName, arguments: input })),
  };
}

async function vercelStream(question: Question): Promise<Message> {
  const errors: unknown[] = [];
  const result = streamText({ ...vercelOptions(question), onError: ({ error }) => void errors.push(error) });
  const [text, reasoning, calls, finish] = await Promise.all([
    ...([result.text, result.reasoningText, result.toolCalls, result.finishReason] as const),
  ]);
  expect(errors).toEqual([]);
  return fromVercel(text, reasoning, calls, finish);
}

async function vercelWhole(question: Question): Promise<Message> {
  const { text, reasoningText, toolCalls, finishReason } = await generateText(vercelOptions(question));
  return fromVercel(text, reasoningText, toolCalls, finishReason);
}

const clients = { openaiStream, openaiWhole, vercelStream, vercelWhole };

/** What all clients make of an answer; they must agree. */
async function messageOf(question: Question, behaviour: BehaviourInput): Promise<Message> {
  engine.set(behaviour);
  const seen = await Promise.all(
    Object.entries(clients).map(async ([name, ask]) => [name, await ask(question)] as const),
  );
  const [, first] = seen[0] ?? [];
  if (first === undefined) throw new Error('nobody asked');
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(seen.map(([name]) => [name, first])));
  return first;
}

const toolQuirks = [
  ...(['index-missing', 'index-all-zero', 'index-from-one', 'index-jumps', 'index-restarts', 'whole-call'] as const),
  ...(['calls-in-one-chunk', 'arguments-object', 'arguments-null-first', 'arguments-empty-then-whole'] as const),
  ...(['id-missing', 'id-late', 'id-empty-on-continuation', 'head-repeated', 'name-split', 'name-late'] as const),
  ...(['name-null-on-continuation', 'type-missing', 'ids-duplicate', 'interleaved', 'trailing-empty'] as const),
  ...(['empty-content-first', 'finish-stop', 'finish-null', 'finish-with-last', 'rest-in-finish'] as const),
];

describe('tool calls are the same for every client', () => {
  const question = { prompt: 'Weather of Ulm and Rome, and the time.', tools: true };
  const asked = { callTools: ['get_weather', 'get_time', 'get_weather'], words: 5, reasoningWords: 5 };

  const expectSame = async (behaviour: BehaviourInput): Promise<void> => {
    const straight = await messageOf(question, asked);
    expect(straight.calls.map(({ name }) => name)).toEqual(asked.callTools);
    expect(straight).toMatchObject({ finish: 'tool_calls', reasoning: expect.stringMatching(/./) as string });
    expect(await messageOf(question, { ...asked, ...behaviour })).toEqual(straight);
  };

  test.each(toolQuirks)('from an engine with the quirk %s', async (quirk) => expectSame({ toolQuirk: [quirk] }));

  test.each([
    [['index-missing', 'id-missing']],
    [['head-repeated', 'index-all-zero']],
    [['type-missing', 'index-from-one', 'finish-stop']],
    [['name-late', 'id-late']],
    [['interleaved', 'id-missing', 'finish-null']],
    [['calls-in-one-chunk', 'index-all-zero', 'finish-stop']],
  ] as const)('from an engine with the quirks %j', async (quirks) => expectSame({ toolQuirk: [...quirks] }));

  test.each<readonly [string, BehaviourInput]>([
    ['says nothing between chunks', { emptyChunks: true }],
    ['repeats the role', { roleChunk: 'repeated' }],
    ['never says the role', { roleChunk: 'absent' }],
    ['says null first', { roleChunk: 'null-content' }],
    ['sends several tokens at once', { deltaTokens: 4 }],
  ])('from an engine that %s', async (_, behaviour) => expectSame(behaviour));
});

describe('reasoning is the same for every client', () => {
  const question = { prompt: 'Why is the sky blue?' };
  const asked = { words: 12, reasoningWords: 9 };

  test.each<readonly [string, BehaviourInput]>([
    ['reasoning', { reasoningField: 'reasoning' }],
    ['reasoning, mixed with the text', { reasoningField: 'reasoning', reasoningChunks: 'mixed' }],
    ['reasoning_content, mixed with the text', { reasoningChunks: 'mixed' }],
    ['both fields', { reasoningField: 'both' }],
    ['both fields, mixed with the text', { reasoningField: 'both', reasoningChunks: 'mixed' }],
    ['two fields of which one is null', { reasoningField: 'both-one-null' }],
  ])('reported in %s', async (_, behaviour) => {
    const straight = await messageOf(question, asked);
    expect(straight).toMatchObject({ finish: 'stop', text: expect.stringMatching(/./) as string, calls: [] });
    expect(straight.reasoning.split(' ').length).toBeGreaterThan(5);
    expect(await messageOf(question, { ...asked, ...behaviour })).toEqual(straight);
  });

  test('and a tag in an answer stays where it is, for the engine reports in a field', async () => {
    const text = 'The tag <think> opens what </think> closes.';
    expect(await messageOf(question, { ...asked, content: text })).toMatchObject({ text });
  });
});

interface UsageBlock {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
  readonly cost: number;
}

/** The usage block of both transports; they must agree. */
async function usageOf(behaviour: BehaviourInput): Promise<UsageBlock> {
  engine.set({ words: 12, reasoningWords: 9, cachedTokens: 3, ...behaviour });
  const body = request({ prompt: 'Why is the sky blue?' });
  const { completions } = weir.client().chat;
  const whole = await completions.create(body);
  const stream = completions.stream({ ...body, stream_options: { include_usage: true } });
  const { usage } = await stream.finalChatCompletion();
  expect(usage).toEqual(whole.usage);
  const block = whole.usage as unknown as UsageBlock;
  expect(block.total_tokens).toBe(block.prompt_tokens + block.completion_tokens);
  return block;
}

describe('usage is the same block', () => {
  test.each<
    readonly [NonNullable<BehaviourInput['usage']>, (honest: UsageBlock) => Partial<Record<keyof UsageBlock, unknown>>]
  >([
    ['total-mismatch', () => ({})],
    ['reasoning-excluded', () => ({})],
    ['reasoning-top-level', () => ({})],
    ['cached-top-level', () => ({})],
    ['cache-hit-miss', () => ({})],
    ['no-cached-when-zero', () => ({})],
    ['no-details', () => ({ prompt_tokens_details: undefined, completion_tokens_details: undefined })],
    ['null-details', () => ({ prompt_tokens_details: undefined, completion_tokens_details: undefined })],
    ['cached-above-prompt', ({ prompt_tokens: prompt }) => ({ prompt_tokens_details: { cached_tokens: prompt } })],
  ])('from an engine that reports %s', async (usage, difference) => {
    const honest = await usageOf({});
    expect(honest).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: expect.any(Number) as number },
    });
    const { cost, ...counts } = { ...honest, ...difference(honest) };
    const block = await usageOf({ usage });
    expect(block).toEqual({ ...JSON.parse(JSON.stringify(counts)), cost: expect.any(Number) as number });
    const cached = block.prompt_tokens_details?.cached_tokens ?? 0;
    const exact = (block.prompt_tokens - cached) * 150_000 + cached * 30_000 + block.completion_tokens * 600_000;
    expect(block.cost).toBe(Number(`${exact}e-12`));
    expect(cost).toEqual(expect.any(Number));
  });

  test.each(['asked', 'own-chunk', 'finish-chunk', 'every-chunk', 'choice', 'x_groq'] as const)(
    'from an engine that reports it in the place: %s',
    async (usageWhere) => {
      expect(await usageOf({ usageWhere })).toEqual(await usageOf({}));
    },
  );

  test('from an engine that reports zeros: both transports have the same estimate', async () => {
    const block = await usageOf({ usage: 'zeros' });
    expect(block.prompt_tokens).toBeGreaterThan(0);
    expect(block.completion_tokens).toBeGreaterThan(0);
  });

  test.each(['absent', 'null'] as const)('even from an engine whose usage is %s: it is estimated', async (usage) => {
    engine.set({ words: 12, reasoningWords: 9, usage });
    const body = request({ prompt: 'Why is the sky blue?' });
    for (const stream of [true, false]) {
      const { completions } = weir.client().chat;
      const final = stream
        ? await completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
        : await completions.create(body);
      expect(final.usage?.prompt_tokens).toBeGreaterThan(0);
      expect(final.usage?.completion_tokens).toBeGreaterThan(0);
    }
  });
});

describe('an engine that compresses its answers unasked', () => {
  test.each([true, false])('reads like any other, stream: %s', async (stream) => {
    const body = { ...request({ prompt: 'Why is the sky blue?' }), stream };
    const texts: string[] = [];
    for (const gzip of [false, true]) {
      engine.set({ gzip });
      const response = await weir.chat(body);
      expect(response.status).toBe(200);
      const pieces = (await response.text()).matchAll(/"content":("(?:[^"\\]|\\.)*")/g);
      texts.push([...pieces].map(([, text = '""']) => String(JSON.parse(text))).join(''));
    }
    expect(texts[1]).not.toBe('');
    expect(texts[1]).toBe(texts[0]);
  });
});

describe('an engine’s own refusal', () => {
  test.each([true, false])('of a prompt that is too long is a 400 with its code, stream: %s', async (stream) => {
    engine.set({ contextLength: 5 });
    const response = await weir.chat({ ...request({ prompt: 'Why is the sky blue, and the sea?' }), stream });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: expect.any(String) as string,
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    });
  });

  test.each(['engine', 'flat', 'detail', 'string', 'array', 'text', 'empty', 'not-json'] as const)(
    'of a request that we should have refused is a 400 in our words, and ours to fix (%s)',
    async (errorBody) => {
      engine.set({ status: 400, errorBody });
      const before = weir.log().length;
      const response = await weir.chat(request({ prompt: 'Hello.' }));
      expect(await refusalOf(response)).toMatchObject({ code: undefined, field: '' });
      const told = (): string | undefined => {
        const lines = weir.log().slice(before).split('\n');
        const isWanted = (text: string): boolean => text.includes('attempt failed') && text.includes('bad-request');
        return lines.find((text) => isWanted(text) && text.endsWith('}'));
      };
      // The service does not wait for its log. Records of the tests before may come late.
      await expect.poll(told).toBeDefined();
      const line = told();
      expect(JSON.parse(line ?? '{}')).toMatchObject({
        level: 50,
        fault: 'status',
        status: 400,
        engineError: 'bad-request',
      });
      expect(line).not.toContain('could not be understood');
    },
  );

  test('that is a page of a proxy is no fault of the request', async () => {
    engine.set({ status: 400, errorBody: 'html' });
    const response = await weir.chat(request({ prompt: 'Hello.' }));
    expect(response.status).toBe(502);
    const told = (): boolean => weir.log().includes('"engineError":"misconfigured"');
    await expect.poll(told).toBe(true);
  });

  test.each(['engine', 'flat', 'string', 'array'] as const)(
    'hidden in a 200 fails the attempt (%s)',
    async (errorBody) => {
      engine.set({ status: 200, errorBody });
      for (const stream of [true, false]) {
        expect((await weir.chat({ ...request({ prompt: 'Hello.' }), stream })).status).toBe(502);
      }
    },
  );
});
