/**
 * Records what a real engine answers, for `test/golden/engines`: `npm run record:vllm [-- CASE…]` starts a vLLM;
 * `-- --url URL --engine "NAME VERSION" --model MODEL --kind KIND CASE…` records a server that runs already, with requests in the form for
 * that kind of engine. Prints for each case whether its framing is that of the newest recording; the model's text is known by heart, so
 * that what changed is the engine. Ids, times and the fingerprint are no framing. Run `npm run golden:write` afterwards and review the
 * difference.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type EngineName, engineNames } from '../../src/core/engine-name.ts';
import { engines } from '../../src/gateway/engines/engines.ts';
import { capture, type Capture, captureFile, readCaptures } from '../golden/captures.ts';
import { needPrograms } from '../support/needed-programs.ts';
import { endings, startVllm } from '../support/vllm.ts';
import { getWeather } from '../support/vllm-catalog.ts';

/** A request as Weir writes it to vLLM. */
const ask = (ending: keyof typeof endings | 'tide', more: object = {}): Readonly<Record<string, unknown>> => ({
  model: 'tiny',
  messages: [{ role: 'user', content: `say what you know ${ending === 'tide' ? 'please' : endings[ending]}` }],
  temperature: 0,
  max_tokens: 12,
  chat_template_kwargs: { enable_thinking: false, thinking: false },
  stream: false,
  ...more,
});
const streamed = { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } };
const thinking = { chat_template_kwargs: { enable_thinking: true, thinking: true } };
const schema = {
  type: 'object',
  properties: { dry: { type: 'boolean' }, level: { enum: ['low', 'high'] } },
  required: ['dry', 'level'],
  additionalProperties: false,
};
const structured = { type: 'json_schema', json_schema: { name: 'w', schema, strict: true } };
const strictTool = { ...getWeather, function: { ...getWeather.function, strict: true } };
const continued = {
  messages: [
    { role: 'user', content: 'say what you know please' },
    { role: 'assistant', content: 'the tide comes in ov' },
  ],
  ...{ continue_final_message: true, add_generation_prompt: false },
};

const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  text: ask('tide'),
  'text-stream': ask('tide', streamed),
  'few-stream': ask('few', streamed),
  'logprobs-stream': ask('tide', { ...streamed, logprobs: true, top_logprobs: 2, max_tokens: 4 }),
  logprobs: ask('tide', { logprobs: true, top_logprobs: 2, max_tokens: 4 }),
  'n-stream': ask('tide', { ...streamed, n: 2, temperature: 0.1, seed: 1, max_tokens: 5 }),
  n: ask('tide', { n: 2, temperature: 0.1, seed: 1, max_tokens: 5 }),
  'stop-stream': ask('tide', { ...streamed, stop: ['tide'] }),
  stop: ask('tide', { stop: ['tide'] }),
  reasoning: ask('few', { ...thinking, max_tokens: 60 }),
  'reasoning-stream': ask('few', { ...thinking, ...streamed, max_tokens: 60 }),
  'reasoning-cut-stream': ask('few', { ...thinking, ...streamed }),
  'reasoning-budget-stream': ask('muse', { ...thinking, ...streamed, thinking_token_budget: 8, max_tokens: 30 }),
  'tool-auto': ask('call', { tools: [getWeather], max_tokens: 200 }),
  'tool-auto-stream': ask('call', { ...streamed, tools: [getWeather], max_tokens: 200 }),
  'tool-reasoning-stream': ask('call', { ...thinking, ...streamed, tools: [getWeather], max_tokens: 200 }),
  'tools-two-stream': ask('twoCalls', { ...streamed, tools: [getWeather], max_tokens: 300 }),
  'tool-required': ask('call', { tools: [strictTool], tool_choice: 'required', max_tokens: 200 }),
  'tool-required-stream': ask('call', { ...streamed, tools: [strictTool], tool_choice: 'required', max_tokens: 200 }),
  // In a notation that the parser does not read.
  'tool-unread': ask('xml', { tools: [getWeather], max_tokens: 200 }),
  'tool-unread-stream': ask('xml', { ...streamed, tools: [getWeather], max_tokens: 200 }),
  'tool-auto-cut': ask('call', { tools: [getWeather], max_tokens: 64 }),
  'tool-auto-cut-stream': ask('call', { ...streamed, tools: [getWeather], max_tokens: 64 }),
  'tool-cut': ask('call', { tools: [strictTool], tool_choice: 'required', max_tokens: 20 }),
  'tool-cut-stream': ask('call', { ...streamed, tools: [strictTool], tool_choice: 'required', max_tokens: 40 }),
  schema: ask('tide', { response_format: structured, max_tokens: 60 }),
  'schema-stream': ask('tide', { ...streamed, response_format: structured, max_tokens: 60 }),
  'continued-stream': ask('tide', { ...continued, ...streamed }),
  'cached-stream': ask('tide', {
    ...streamed,
    max_tokens: 2,
    messages: [{ role: 'user', content: 'sea '.repeat(64) }],
  }),
  'error-context': ask('tide', { messages: [{ role: 'user', content: 'x'.repeat(3000) }] }),
  'error-cap': ask('tide', { max_tokens: 5000 }),
  'error-model': ask('tide', { model: 'other' }),
  'error-n-greedy': ask('tide', { n: 2 }),
  'error-value': ask('tide', { temperature: 'warm' }),
  'error-no-tools': ask('tide', { tools: [] }),
  'error-choice': ask('tide', { tools: [getWeather], tool_choice: { type: 'function', function: { name: 'other' } } }),
  'error-stream-options': ask('tide', { stream_options: { include_usage: true } }),
  'error-both-flags': ask('tide', { ...continued, add_generation_prompt: true }),
  'error-schema': ask('tide', {
    response_format: { type: 'json_schema', json_schema: { name: 'w', schema: { type: 'nothing' } } },
  }),
};

async function record(
  url: string,
  { engine, request }: { engine: string; request: Capture['request'] },
): Promise<Capture> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    ...{ method: 'POST', body: JSON.stringify(request), headers: { 'content-type': 'application/json' } },
  });
  const decoder = new TextDecoder('utf8', { fatal: true });
  const pieces: { afterMs: number; text: string }[] = [];
  for await (const bytes of response.body ?? []) {
    const text = decoder.decode(bytes, { stream: true });
    pieces.push({ afterMs: Math.round(performance.now() - startedAt), text });
  }
  const recorded = new Date().toISOString().slice(0, 10);
  const contentType = response.headers.get('content-type') ?? '';
  return { engine, recorded, request, status: response.status, contentType, pieces };
}

/**
 * What is the same whenever the same is asked of the same version. On a stream the engine joins as many tokens in a chunk as it has ready:
 * texts and counts are left out, and chunks of one shape that follow each other count once.
 */
function framingOf({ status, contentType, pieces }: Capture): string {
  const text = pieces
    .map((piece) => piece.text)
    .join('')
    .replaceAll(/"(id|request_id)": ?"[^"]*"/g, '"$1":"…"')
    .replaceAll(/"created": ?\d+/g, '"created":0')
    .replaceAll(/"system_fingerprint": ?"[^"]*"/g, '"system_fingerprint":"…"')
    .replaceAll(/"(logprob|cached_tokens|created_cache_tokens)": ?-?[\d.e-]+/g, '"$1":0')
    .replaceAll(/\[\d\d:\d\d:\d\d\]/g, '[time]');
  if (!contentType.startsWith('text/event-stream')) return `${status} ${contentType}\n${text}`;
  const shapes = text
    .split(/\n\n/)
    .map((event) => event.replaceAll(/"(content|reasoning|arguments|token)":"(?:[^"\\]|\\.)*"/g, '"$1":"…"'))
    .map((event) => event.replaceAll(/\d+/g, '0'));
  return [`${status} ${contentType}`, ...shapes.filter((shape, index) => shape !== shapes[index - 1])].join('\n');
}

/** The first line in which two texts differ. */
function firstDifference(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const at = now.findIndex((line, index) => line !== old[index]);
  return `  before: ${old[at] ?? '(ended)'}\n  now:    ${now[at] ?? '(ended)'}`;
}

/** Without it the JSON of a model may hold white space without end. */
const flags = ['--structured-outputs-config', '{"backend": "xgrammar", "disable_any_whitespace": true}'];

const version = z.object({ version: z.string() });

interface Subject {
  readonly url: string;
  /** Program and version. */
  readonly engine: string;
  /** The request as this engine gets it. */
  readonly adapt: (request: Capture['request']) => Capture['request'];
  readonly close: () => Promise<void>;
}

async function startSubject(): Promise<Subject> {
  await needPrograms('vLLM');
  const vllm = await startVllm({ extra: flags });
  const answer = await fetch(`${vllm.url}/version`);
  const engine = `vllm ${version.parse(await answer.json()).version}`;
  return { url: vllm.url, engine, adapt: (request) => request, close: vllm.close };
}

const written = z.looseObject({
  chat_template_kwargs: z.object({ enable_thinking: z.boolean() }).optional(),
  thinking_token_budget: z.number().optional(),
  continue_final_message: z.boolean().optional(),
  add_generation_prompt: z.boolean().optional(),
  stream_options: z.unknown().optional(),
  max_tokens: z.int().optional(),
});

/** Writes a request of this file as Weir writes it to another kind of engine. */
function rewrite(kind: EngineName, model: string, request: Capture['request']): Capture['request'] {
  const { capabilities, capField, streamUsage, writeReasoning } = engines[kind];
  const { chat_template_kwargs: template, thinking_token_budget: budgetTokens, ...others } = written.parse(request);
  const asked = request['model'] === 'tiny' ? model : request['model'];
  const { stream_options: usage, max_tokens: cap, continue_final_message: continued, ...last } = others;
  const { add_generation_prompt: generated, ...rest } = last;
  const budget = budgetTokens === undefined ? {} : { budgetTokens };
  const isMarked = capabilities.continuation === 'flag' && continued !== undefined;
  return {
    ...{ ...rest, model: asked, [capField]: cap },
    ...writeReasoning(template?.enable_thinking === false ? { enabled: false } : { enabled: true, ...budget }),
    ...(isMarked ? { continue_final_message: continued, add_generation_prompt: generated } : {}),
    ...(usage === undefined || streamUsage === 'continuous' ? { stream_options: usage } : {}),
    ...(usage !== undefined && streamUsage === 'include' ? { stream_options: { include_usage: true } } : {}),
  };
}

/** A server that runs already. */
const runningSubject = (
  url: string,
  engine: string,
  { model, kind }: { model: string; kind: EngineName },
): Subject => ({
  ...{ url, engine },
  adapt: (request) => rewrite(kind, model, request),
  close: async () => {},
});

async function main(): Promise<void> {
  const { values, positionals: chosen } = parseArgs({
    options: {
      ...{ url: { type: 'string' }, engine: { type: 'string' } },
      ...{ model: { type: 'string', default: 'tiny' }, kind: { type: 'string', default: 'vllm' } },
    },
    allowPositionals: true,
  });
  const subject =
    values.url === undefined
      ? await startSubject()
      : runningSubject(values.url, values.engine ?? 'unknown 0.0', {
          model: values.model,
          kind: z.enum(engineNames).parse(values.kind),
        });
  const { url, engine, adapt, close } = subject;
  const [program = ''] = engine.split(' ');
  const before = new Map(
    readCaptures()
      .filter(({ folder }) => folder.startsWith(`${program}-`))
      .map((known) => [known.name, known]),
  );
  try {
    const folder = engine.replace(' ', '-').replace(/\.\d+$/, '');
    for (const [name, usual] of Object.entries(cases)) {
      if (chosen.length > 0 && !chosen.includes(name)) continue;
      const request = adapt(usual);
      // The second time its prompt is cached.
      if (name === 'cached-stream') await record(url, { engine, request });
      const now = await record(url, { engine, request });
      const known = before.get(name)?.capture;
      const file = captureFile(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify(capture.parse(now), undefined, 1)}\n`);
      if (known === undefined) console.log(`${name}: new`);
      else if (framingOf(known) === framingOf(now)) console.log(`${name}: as ${known.engine} of ${known.recorded}`);
      else console.log(`${name}: changed since ${known.engine}\n${firstDifference(framingOf(known), framingOf(now))}`);
    }
  } finally {
    await close();
  }
}

await main();
