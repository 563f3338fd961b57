// @suite long
import { afterAll, describe, it, beforeAll, expect } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Chance, chanceFrom } from '../support/chance.ts';
import { startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { startValkey } from '../support/valkey.ts';
import { modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// Three gateways, each with a service and an Envoy of its own, on one PostgreSQL and one Valkey, before four endpoints: of one
// Backend, or of four. Each endpoint remembers the prompts that it has seen, as an engine's prefix cache does, and says how much of
// the next one it knew. Conversations go on turn by turn, each turn through any of the gateways.

const [replicaCount, engineCount, conversationCount, turnCount] = [3, 4, 30, 6];

const gateways: Weir[] = [];

const [server, valkey] = await forFile(Promise.all([startPostgres(), startValkey()]));
const database = await server.database('accounts');
const env = {
  WEIR_DATABASE_URL: database,
  WEIR_VALKEY_URL: valkey.url,
  WEIR_REPLICAS: String(replicaCount),
};
await weir('workspace', 'create', 'talkers', '--credit', '1000');
const roomy = ['--rate', '100000', '--burst', '100000'];
const { key } = (await weir('key', 'create', '--workspace', 'talkers', ...roomy)) as { readonly key: string };
// As fast as each other, so that no endpoint is left for being slow. A prompt that must be computed takes long enough to be worth a cache.
const behaviour = { reasoning: 'never', words: 40, firstTokenDelayMs: 30, prefillTokensPerSecond: 2000 } as const;
const engines = await forFile(
  Promise.all(
    Array.from({ length: engineCount }, (_, index) => startProgrammableEngine({ name: `engine-${index}`, behaviour })),
  ),
);

async function weir(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runWeir([...args, '--json'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** How the endpoints are in the catalog: those of one Backend, or each the only one of a Backend of its own. */
type Arrangement = 'endpoints' | 'routes';

function manifests(arrangement: Arrangement): string {
  const endpoints = engines.map(({ port }) => `{host: 127.0.0.1, port: ${port}}`);
  const backends = arrangement === 'endpoints' ? [endpoints.join(', ')] : endpoints;
  const objects = backends.map((addresses, index) =>
    [
      'apiVersion: weir.dev/v1alpha1',
      'kind: Backend',
      `metadata: {name: backend-${index}}`,
      `spec: {engine: vllm, path: /v1, endpoints: [${addresses}]}`,
      '---',
      '',
    ].join('\n'),
  );
  const names = backends.map((_, index) => `backend-${index}`);
  return objects.join('') + modelManifest('test/model', names, '  hedging: {mode: Disabled}', 1);
}

/** Starts the gateways one after the other; `between` runs after each of them. */
async function startGateways(
  arrangement: Arrangement,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  for (let started = 0; started < replicaCount; started += 1) {
    gateways.push(await startWeir({ engines, manifests: { 'catalog.yaml': manifests(arrangement) }, env }));
    await between();
  }
}

async function closeGateways(): Promise<void> {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

interface Conversation {
  /** What its messages say and which gateways they take. */
  readonly chance: Chance;
  readonly messages: Message[];
}

interface Answer {
  readonly choices: readonly [{ readonly message: { readonly content: string } }];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

const vocabulary = 'river stone winter paper silver window garden letter morning engine forest candle bridge'.split(
  ' ',
);
const prose = (chance: Chance, words: number): string =>
  Array.from({ length: words }, () => chance.pick(vocabulary)).join(' ');

const instructions = prose(chanceFrom(1_000), 300);

interface Talk {
  /** Share of all prompt tokens that an endpoint had in its cache. */
  readonly cachedShare: number;
  /** How many conversations each endpoint has had a turn of. */
  readonly conversationsAt: readonly number[];
}

interface TalkOptions {
  /** Whether the conversations share their system prompt. */
  readonly system: 'own' | 'shared';
  /** So many conversations have a turn under way at the same time. */
  readonly concurrency: number;
}

/** Leads all conversations through these gateways, with caches that are empty. The same ones each time. */
async function talk(through: readonly Weir[], { system, concurrency }: TalkOptions): Promise<Talk> {
  for (const engine of engines) engine.reset();
  const conversations = Array.from({ length: conversationCount }, (_, index): Conversation => {
    const chance = chanceFrom(index);
    // Worth a preference: more than a kilobyte.
    const content = `You are ${system === 'own' ? `assistant ${index}` : 'an assistant'}. ${instructions}`;
    return { chance, messages: [{ role: 'system', content }] };
  });
  let [promptTokens, cachedTokens] = [0, 0];

  async function turn({ chance, messages }: Conversation): Promise<void> {
    messages.push({ role: 'user', content: prose(chance, 100) });
    const response = await chance
      .pick(through)
      .chat({ model: 'test/model', messages }, { authorization: `Bearer ${key}` });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Answer;
    messages.push({ role: 'assistant', content: answer.choices[0].message.content });
    promptTokens += answer.usage.prompt_tokens;
    cachedTokens += answer.usage.prompt_tokens_details.cached_tokens;
  }

  for (let turns = 0; turns < turnCount; turns += 1) {
    const waiting = [...conversations];
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await turn(next);
      }),
    );
  }
  const conversationsAt = engines.map((engine) => new Set(engine.requests().map(({ body }) => questionOf(body))).size);
  return { cachedShare: cachedTokens / promptTokens, conversationsAt };
}

const questionOf = (body: unknown): string | undefined =>
  (body as { readonly messages: readonly Message[] }).messages[1]?.content;

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Has the conversations led by one replica and by all, and says what the caches knew. */
async function compare(options: TalkOptions): Promise<{ readonly one: number; readonly all: number }> {
  const [one, all] = [await talk(gateways.slice(0, 1), options), await talk(gateways, options)];
  console.log(
    `cached: ${percent(one.cachedShare)} of all prompt tokens with one replica, ${percent(all.cachedShare)} with ${replicaCount}; ` +
      `conversations at each endpoint: ${one.conversationsAt.join(', ')}, and ${all.conversationsAt.join(', ')}`,
  );
  for (const { conversationsAt } of [one, all]) expect(Math.min(...conversationsAt)).toBeGreaterThan(0);
  return { one: one.cachedShare, all: all.cachedShare };
}

describe('three replicas with the key of all', () => {
  beforeAll(() => startGateways('endpoints'));
  afterAll(closeGateways);

  it.each<TalkOptions & { readonly within: number }>([
    { system: 'own', concurrency: 4, within: 0.03 },
    { system: 'own', concurrency: 12, within: 0.03 },
    // All endpoints hold the largest part of these prompts, so that a short queue is enough to move a conversation.
    { system: 'shared', concurrency: 12, within: 0.1 },
  ])(
    'find as much of their prompts in the caches of four endpoints as one does: %j',
    async ({ within, ...options }) => {
      const { one, all } = await compare(options);
      expect(Math.abs(all - one)).toBeLessThan(within * one);
    },
  );

  it('do not log it', async () => {
    const [row] = await server.query<{ value: string }>('select value from secrets', database);
    expect(row?.value).toMatch(/^[0-9a-f]{64}$/);
    for (const gateway of gateways) expect(gateway.log()).not.toContain(row?.value);
  });
});

describe('three replicas before four routes', () => {
  beforeAll(() => startGateways('routes'));
  afterAll(closeGateways);

  it.each<TalkOptions>([
    { system: 'own', concurrency: 4 },
    { system: 'shared', concurrency: 12 },
  ])('find as much of their prompts in the caches as one does: %j', async (options) => {
    const { one, all } = await compare(options);
    // A route that one replica finds slow for a moment lends its conversations there alone.
    expect(Math.abs(all - one)).toBeLessThan(0.1 * one);
  });
});

describe('three replicas with a key of their own each', () => {
  beforeAll(() => startGateways('endpoints', () => server.query('delete from secrets', database)));
  afterAll(closeGateways);

  it('find less', async () => {
    const { one, all } = await compare({ system: 'own', concurrency: 4 });
    expect(all).toBeLessThan(0.9 * one);
  });
});
