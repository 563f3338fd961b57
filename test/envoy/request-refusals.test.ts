/** What engines refuse for what the request says: a 400 in our words, and no advice to send it again. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const behaviour = { reasoning: 'never', words: 3 } as const;
const engines = await forFile(
  Promise.all([
    startProgrammableEngine({ name: 'alpha', behaviour }),
    startProgrammableEngine({ name: 'beta', behaviour }),
  ] as const),
);
const [first, second] = engines;
const limited = backendManifest('one-at-once', second).replace(
  'spec: {',
  'spec: {capacity: {maxConcurrentRequests: 1}, ',
);
const manifests = [
  ...[backendManifest('first', first), backendManifest('second', second), limited],
  modelManifest('test/alone', ['first'], '  hedging: {mode: Disabled}'),
  modelManifest('test/two', ['first', 'second'], '  hedging: {mode: Disabled}'),
  modelManifest('test/full', ['first', 'one-at-once'], '  hedging: {mode: Disabled}'),
];
const weir = await forFile(
  startWeir({
    ...{ engines, manifests: { 'catalog.yaml': manifests.join('') }, unlimited: true },
    env: { WEIR_KEEP_ALIVE_SECONDS: '1' },
  }),
);
beforeEach(() => {
  for (const engine of engines) engine.reset();
});

const messages = [{ role: 'user', content: `${canary} Hello.` }];
type Surface = 'chat' | 'messages';
const surfaces: readonly (readonly [Surface, boolean])[] = [
  ...([
    ['chat', false],
    ['chat', true],
    ['messages', false],
    ['messages', true],
  ] as const),
];

async function ask(surface: Surface, model: string, fields: object): Promise<Response> {
  return surface === 'chat'
    ? weir.chat({ model, messages, ...fields })
    : weir.messages({ model, messages, max_tokens: 100, ...fields });
}

interface ErrorAnswer {
  readonly status: number;
  readonly error: { readonly type: string; readonly message: string; readonly code?: string };
}

async function errorOf(response: Response): Promise<ErrorAnswer> {
  const { error } = (await response.json()) as Pick<ErrorAnswer, 'error'>;
  return { status: response.status, error };
}

const refusals: readonly (readonly [string, BehaviourInput])[] = [
  ['400', { status: 400 }],
  ['413', { status: 413 }],
  ['422 with a list of faults', { status: 422, errorJson: { detail: [{ loc: ['body', 'messages'], msg: 'no' }] } }],
  ['400 hidden in a 200', { status: 200, errorJson: { error: { message: 'no', code: 400 } } }],
  ['censorship', { status: 400, errorJson: { error: { message: 'no', code: 'data_inspection_failed' } } }],
];

describe.each(surfaces)('on the surface %s, stream: %s,', (surface, stream) => {
  test.each(refusals)('what every engine refuses with %s is a 400 that bills nothing', async (_, behaviour) => {
    for (const engine of engines) engine.set(behaviour);
    const { status, error } = await errorOf(await ask(surface, 'test/two', { stream }));
    expect([status, error.type, error.code]).toEqual([400, 'invalid_request_error', undefined]);
    expect(error.message).not.toContain('retry');
    expect(engines.map((engine) => engine.requests().length)).toEqual([1, 1]);
    const [row] = await weir.ledger();
    expect(row).toMatchObject({ outcome: 'failed', cost: '0', attempts: 2 });
  });

  test('a parameter that the engines’ error names is named in the caller’s words', async () => {
    engines[0].set({ rejectFields: ['temperature'] });
    const { status, error } = await errorOf(await ask(surface, 'test/alone', { stream, temperature: 0.5 }));
    expect([status, error.message.split(': ')[0]]).toEqual([400, 'temperature']);
  });

  test('one engine’s refusal goes unseen where another one takes the request', async () => {
    engines[0].set({ status: 400 });
    const response = await ask(surface, 'test/two', { stream });
    expect(response.status).toBe(200);
    await response.text();
  });

  test.each<readonly [string, BehaviourInput, BehaviourInput]>([
    ['the other one fails', { status: 400 }, { status: 500 }],
    ['the other one is overloaded', { status: 503 }, { status: 400 }],
    ['the other one has no such model', { status: 400 }, { status: 404 }],
  ])('a refusal stays a 502 that another try may mend where %s', async (_, first, second) => {
    engines[0].set(first);
    engines[1].set(second);
    const { status, error } = await errorOf(await ask(surface, 'test/two', { stream }));
    expect([status, error.type]).toEqual([502, 'service_error']);
    expect(error.message).toContain('safe to retry');
  });

  test('an upstream model that no engine has is the operator’s to mend, and a 502', async () => {
    engines[0].set({ status: 404 });
    expect(await errorOf(await ask(surface, 'test/alone', { stream }))).toMatchObject({ status: 502 });
  });

  test('a route that was full might have taken the request: a 502', async () => {
    const [first, second] = engines;
    second.set({ fault: 'stall', at: { events: 2 } });
    first.set({ status: 400 });
    const left = new AbortController();
    const busy = weir.fetch(`${weir.baseUrl}/chat/completions`, {
      ...{ method: 'POST', signal: left.signal },
      headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/full', messages, stream: true }),
    });
    await second.until(() => second.requests().length === 1);
    const { status } = await errorOf(await ask(surface, 'test/full', { stream }));
    expect(status).toBe(502);
    left.abort();
    await busy.then((response) => response.text()).catch(() => undefined);
    await weir.settled();
  });
});

test('a refusal after the answer was begun is told without advice to retry', async () => {
  engines[0].set({ status: 400, headersDelayMs: 2500 });
  for (const stream of [true, false]) {
    const response = await ask('chat', 'test/alone', { stream });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain(stream ? 'stream_interrupted' : 'upstream_incomplete');
    expect(text).not.toContain('retry');
  }
});
