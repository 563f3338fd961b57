/** Two real vLLM servers, of which one is killed, stopped or ended in the middle of an answer: the caller must not notice. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startVllm, type Vllm } from '../support/vllm.ts';
import { askTiny as ask, getWeather, vllmManifests } from '../support/vllm-catalog.ts';
import { startWeir, type Weir } from '../support/weir.ts';

/** Each costs the start of a server. `VLLM_KILLS=50` takes half an hour on an idle machine. */
const kills = Number(process.env['VLLM_KILLS'] ?? '4');
/** On a busy machine the engine has at times written all of its answer before the blow falls: that round does not count. */
const roundsPerKill = 3;

let servers: [Vllm, Vllm];
let weir: Weir;

const options = {
  extra: ['--structured-outputs-config', '{"backend": "xgrammar", "disable_any_whitespace": true}'],
};

/** All that were started and not killed, also when the second one does not start. */
const started = new Set<Vllm>();
async function start(more: Parameters<typeof startVllm>[0] = {}): Promise<Vllm> {
  const server = await startVllm({ ...options, ...more });
  started.add(server);
  return server;
}

beforeAll(async () => {
  // Both at once, and both are waited for.
  const [first, second] = await Promise.allSettled([start(), start()]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  servers = [first.value, second.value];
  weir = await startWeir({
    unlimited: true,
    manifests: { 'catalog.yaml': vllmManifests(servers) },
    env: { WEIR_IDLE_SECONDS: '10' },
  });
});
afterAll(async () => {
  await weir?.close();
  for (const server of started) server.resume();
  await Promise.all([...started].map((server) => server.close()));
});

/** Leaves the model no choice: it does not know JSON by heart, and where two words are equally likely, continued answers differ. */
const schema = {
  type: 'object',
  properties: Object.fromEntries(
    ['dawn', 'morning', 'noon', 'evening', 'night'].map((time) => [time, { const: `the tide is out at ${time}` }]),
  ),
  required: ['dawn', 'morning', 'noon', 'evening', 'night'],
  additionalProperties: false,
};

/** Answers of a hundred tokens and more, each of another kind. */
const kinds = {
  text: ask({ max_tokens: 240 }),
  reasoning: ask({ max_tokens: 200, reasoning_effort: 'high' }, 'muse'),
  'a call of a tool': ask({ max_tokens: 300, tools: [getWeather] }, 'twoCalls'),
  'structured output': ask({
    max_tokens: 300,
    response_format: { type: 'json_schema', json_schema: { name: 't', schema, strict: true } },
  }),
} as const;
type KindName = keyof typeof kinds;
const kindNames = Object.keys(kinds) as readonly KindName[];

interface Heard {
  content: string;
  reasoning: string;
  readonly calls: { name: string; arguments: string }[];
  readonly finishes: string[];
  usage: unknown;
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly { index: number; function?: { name?: string; arguments?: string } }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

/** Listens to an answer; `after` runs once, as soon as this much of it has come. */
async function listen(
  kind: KindName,
  after?: { readonly characters: number; readonly run: () => Promise<void> },
): Promise<Heard> {
  const heard: Heard = { content: '', reasoning: '', calls: [], finishes: [], usage: undefined };
  let running: Promise<void> | undefined;
  let characters = 0;
  const stream = (await weir.client().chat.completions.create({
    ...kinds[kind],
    ...{ stream: true, stream_options: { include_usage: true } },
  })) as AsyncIterable<Chunk>;
  for await (const { choices, usage } of stream) {
    if (usage) heard.usage = { prompt: usage.prompt_tokens, completion: usage.completion_tokens };
    const [choice] = choices;
    if (choice === undefined) continue;
    const { content, reasoning_content: reasoning, tool_calls: fragments = [] } = choice.delta;
    heard.content += content ?? '';
    heard.reasoning += reasoning ?? '';
    characters += (content ?? '').length + (reasoning ?? '').length;
    for (const fragment of fragments) {
      const call = (heard.calls[fragment.index] ??= { name: '', arguments: '' });
      call.name += fragment.function?.name ?? '';
      call.arguments += fragment.function?.arguments ?? '';
      characters += (fragment.function?.arguments ?? '').length;
    }
    if (choice.finish_reason !== null) heard.finishes.push(choice.finish_reason);
    if (after !== undefined && characters >= after.characters) running ??= after.run();
  }
  await running;
  return heard;
}

/** The server that is writing just now. */
async function writing(): Promise<0 | 1 | undefined> {
  for (const index of [0, 1] as const) {
    if ((await servers[index].metric('vllm:num_requests_running')) > 0) return index;
  }
  return undefined;
}

/** Answers that broke off and went on elsewhere. */
const resumed = (): Promise<number> => weir.metric('weir_attempts_total', { reason: 'resume', step: 'route' });

const unbroken = new Map<KindName, Heard>();
async function unbrokenOf(kind: KindName): Promise<Heard> {
  const known = unbroken.get(kind) ?? (await listen(kind));
  unbroken.set(kind, known);
  return known;
}

interface Broken {
  readonly heard: Heard;
  /** Whether the answer was under way when the blow fell. Otherwise the engine had written all of it, and the round does not count. */
  readonly isStruck: boolean;
}

/** Breaks one answer of a kind. */
async function breakOne(
  kind: KindName,
  blow: (index: 0 | 1) => Promise<void>,
  recover: (index: 0 | 1) => Promise<void>,
): Promise<Broken> {
  await unbrokenOf(kind);
  const before = await resumed();
  let struck: 0 | 1 | undefined;
  try {
    const heard = await listen(kind, {
      characters: 12,
      run: async () => {
        struck = await writing();
        if (struck !== undefined) await blow(struck);
      },
    });
    return { heard, isStruck: (await resumed()) > before || struck !== undefined };
  } finally {
    if (struck !== undefined) await recover(struck);
  }
}

/** Breaks answers of a kind until one was under way. */
async function breakOneUnderWay(...how: Parameters<typeof breakOne>): Promise<Heard> {
  for (let tries = 0; tries < roundsPerKill; tries += 1) {
    const { heard, isStruck } = await breakOne(...how);
    if (isStruck) return heard;
  }
  throw new Error(`${how[0]}: the engine had written all of it each time`);
}

/**
 * Whether a continued answer differs from the unbroken one only where the engine itself takes both words for about equally likely. The
 * model knows its texts by heart, so that it should not differ at all.
 */
async function isTie(kind: KindName, { content, finishes, usage }: Heard): Promise<boolean> {
  const whole = await unbrokenOf(kind);
  const place = Array.from(whole.content).findIndex((character, index) => character !== content[index]);
  const logged = await weir.client().chat.completions.create({ ...kinds[kind], logprobs: true, top_logprobs: 5 });
  const { logprob = 0, top_logprobs: others = [] } = logged.choices[0]?.logprobs?.content?.[place] ?? {};
  const other = others.find(({ token }) => token === content[place])?.logprob ?? Number.NEGATIVE_INFINITY;
  console.log(`${kind}: differs at ${place}, with the likelihoods ${Math.exp(logprob)} and ${Math.exp(other)}`);
  const isSame = JSON.stringify([finishes, usage]) === JSON.stringify([whole.finishes, whole.usage]);
  return isSame && place >= 0 && logprob - other < Math.log(2);
}

const restart = async (index: 0 | 1): Promise<void> => {
  started.delete(servers[index]);
  servers[index] = await start({ port: servers[index].port });
};

it('unbroken answers are what the model knows by heart, whichever server writes them', async () => {
  for (const kind of kindNames) expect(await listen(kind)).toEqual(await unbrokenOf(kind));
  expect(unbroken.get('text')?.content).toHaveLength(240);
  expect(unbroken.get('reasoning')?.reasoning.length).toBeGreaterThan(150);
  expect(unbroken.get('a call of a tool')?.calls).toHaveLength(2);
  const structured = unbroken.get('structured output')?.content ?? '';
  expect(structured.length).toBeGreaterThan(150);
  expect(JSON.parse(structured)).toMatchObject({ noon: 'the tide is out at noon' });
});

describe('a caller does not notice', () => {
  it(
    'that a server is killed in mid-stream, again and again',
    async () => {
      const rows = new Map(kindNames.map((kind) => [kind, { killed: 0, unseen: 0, 'unseen, another text': 0 }]));
      for (let round = 0; round < kills; round += 1) {
        const kind = kindNames[round % kindNames.length] ?? 'text';
        const row = rows.get(kind);
        if (row === undefined) continue;
        row.killed += 1;
        const heard = await breakOneUnderWay(kind, (index) => servers[index].kill(), restart);
        if (isDeepStrictEqual(heard, await unbrokenOf(kind))) row.unseen += 1;
        else if (await isTie(kind, heard)) row['unseen, another text'] += 1;
        else console.log(`${kind}, round ${round}: ${JSON.stringify(heard)}`);
      }
      console.table(Object.fromEntries(rows));
      const all = [...rows.values()];
      expect(all.reduce((sum, row) => sum + row.killed, 0)).toBe(kills);
      expect(all.filter((row) => row.unseen + row['unseen, another text'] < row.killed)).toEqual([]);
    },
    kills * 180_000,
  );

  it.each(kindNames)('that a server stops in the middle of %s', async (kind) => {
    const stop = async (index: 0 | 1): Promise<void> => servers[index].pause();
    const goOn = async (index: 0 | 1): Promise<void> => servers[index].resume();
    expect(await breakOneUnderWay(kind, stop, goOn)).toEqual(await unbrokenOf(kind));
  });

  it('that a server is ended in order', async () => {
    const end = (index: 0 | 1): Promise<void> => servers[index].close();
    expect(await breakOneUnderWay('text', end, restart)).toEqual(await unbrokenOf('text'));
  }, 300_000);
});
