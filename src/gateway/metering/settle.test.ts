import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeStore } from '../../../test/support/fake-store.ts';
import { modelOf, routeOf, targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import type { Outcome } from '../../core/account.ts';
import type { Fault } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { OutcomeKind } from '../../core/settled-request.ts';
import { correlationIdOf } from '../../core/exchange.ts';
import { prepareHere } from '../request/prepare.ts';
import { type AnswerLengths, createAnswerLengths } from './expected-output.ts';
import type { TokenCounters } from './meter.ts';
import { createSettlement } from './settle.ts';

const canary = 'CANARY-of-the-prompt';

interface BeginOptions {
  readonly failure?: Error;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accrue?: (expected: { readonly cost: bigint; readonly tokens: number }) => void;
  readonly answerLengths?: AnswerLengths;
  /** Fields of the request. */
  readonly fields?: object;
  readonly counters?: TokenCounters;
  /** The price of a search. Absent: the request may not search. */
  readonly searchPrice?: bigint;
}

function begin(options: BeginOptions = {}) {
  const store = createFakeStore(options.failure === undefined ? {} : { failure: options.failure });
  const clock = createFakeClock();
  // Other requests came before.
  clock.advance(5_000);
  const told: Outcome[] = [];
  const body = { model: 'demo/tiny', user: canary, messages: [{ role: 'user', content: canary }], ...options.fields };
  const route = routeOf('a');
  const prepared = prepareHere(new TextEncoder().encode(JSON.stringify(body)), {
    ...{ surface: 'chat', countPrompt: uncounted },
  });
  const { counters, searchPrice } = options;
  const request = { ...prepared.request, ...(searchPrice === undefined ? {} : { webSearch: {} }) };
  const settlement = createSettlement(
    {
      ...{ requestId: 'chatcmpl-1', surface: 'chat', credential: credentialOf() },
      watch: {
        progress: (progress) => progress.kind === 'settled' && told.push(progress.outcome),
        attemptLog: () => '001 a 10.0.0.1:80 2 - 15 status/500',
      },
      correlationId: correlationIdOf({ header: (name) => options.headers?.[name] }),
      prepared: { ...prepared, request },
      plan: { model: modelOf([route]), routes: [{ route, target: targetOf('a') }] },
      ...{ startedAt: clock.now(), begun: clock.elapsed() },
      ...{ counters, searchPrice, accrue: options.accrue },
    },
    { store, clock, answerLengths: options.answerLengths },
  );
  return { store, clock, told, settlement, route };
}

describe('settlement', () => {
  it('writes one row with counts, ids, names and times, and gives the bill', async () => {
    const { store, clock, told, settlement, route } = begin({ headers: { 'x-request-id': 'abc-1' } });
    clock.advance(120);
    settlement.take([{ type: 'text-delta', choice: 0, text: canary, deltas: 3 }]);
    clock.advance(80);
    settlement.take([{ type: 'usage', usage: { promptTokens: 12, completionTokens: 7, cachedTokens: 4 } }]);
    const bill = await settlement.settle('completed', { attempts: 2, routes: 1, route });
    const usage = { promptTokens: 12, completionTokens: 7, cachedTokens: 4 };
    const cost = 8n * 150_000n + 4n * 30_000n + 7n * 600_000n;
    expect(bill).toMatchObject({ usage, cost });
    const row = {
      ...{ requestId: 'chatcmpl-1', correlationId: 'abc-1', workspaceId: 'ws-1', keyId: 'key-1', modelId: 'demo/tiny' },
      ...{
        routeId: 'tiny@a',
        surface: 'chat',
        stream: false,
        kind: 'completed',
        usage,
        countedBy: 'engine',
        cost,
        attempts: 2,
        routes: 1,
      },
      ...{ startedAt: 1_780_000_005_000, firstTokenMs: 120, durationMs: 200 },
      output: { tokens: 7, tokensAtFirst: 3, firstMs: 120, lastMs: 120 },
    };
    expect(store.outcomes).toMatchObject([row]);
    expect(told).toEqual(store.outcomes);
  });

  it('holds no content', async () => {
    const { store, settlement } = begin();
    settlement.take([{ type: 'text-delta', choice: 0, text: canary, deltas: 3 }]);
    await settlement.settle('cancelled', { attempts: 1 });
    const written = JSON.stringify(store.outcomes, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(written).not.toContain('CANARY');
    expect(store.outcomes[0]?.routeId).toBeUndefined();
    expect(begin().store.outcomes).toEqual([]);
  });

  it('says no time of a first token when none came', async () => {
    const { store, settlement } = begin();
    await settlement.settle('failed', { attempts: 3 });
    expect(store.outcomes[0]?.firstTokenMs).toBeUndefined();
    expect(store.outcomes[0]).toMatchObject({
      cost: 0n,
      kind: 'failed',
      usage: { promptTokens: 0, completionTokens: 0 },
    });
  });

  it('says why it failed, where all routes gave the same reason', async () => {
    const { store, settlement } = begin();
    await settlement.settle('failed', { attempts: 2, refusedFor: 'context-length' });
    expect(store.outcomes[0]).toMatchObject({ kind: 'failed', refusedFor: 'context-length' });
  });

  it.each<[OutcomeKind, Pick<Fault, 'kind' | 'status'>, string | undefined]>([
    ['failed', { kind: 'status', status: 503 }, 'status 503'],
    ['interrupted', { kind: 'reset' }, 'reset'],
    ['incomplete', { kind: 'stalled' }, 'stalled'],
    // The fault did not end these.
    ['completed', { kind: 'reset' }, undefined],
    ['service-lost', { kind: 'reset' }, undefined],
  ])('records the last fault of a request that engines let down: %s', async (kind, lastFault, fault) => {
    const { store, settlement } = begin();
    await settlement.settle(kind, { attempts: 2, lastFault });
    expect(store.outcomes[0]?.fault).toBe(fault);
    expect(store.outcomes[0]?.attemptLog).toBe(fault && '001 a 10.0.0.1:80 2 - 15 status/500');
  });

  it.each<[OutcomeKind, string | undefined]>([
    ['failed', 'invalid_request bad-request tools'],
    ['interrupted', 'stream_interrupted bad-request tools'],
    ['incomplete', 'upstream_incomplete bad-request tools'],
    ['cancelled', undefined],
  ])('records the error that the caller got, and why: %s', async (kind, failure) => {
    const { store, settlement } = begin();
    const error = new Failure('invalid_request', 'text of a caller', { about: ['tools'] });
    await settlement.settle(kind, { attempts: 1, refusedFor: 'bad-request', failure: error });
    expect(store.outcomes[0]?.failure).toBe(failure);
  });

  it('bills nothing for a caller who left before anything was dispatched', async () => {
    const { store, settlement } = begin();
    await settlement.settle('cancelled', { attempts: 0, routes: 0 });
    expect(store.outcomes[0]).toMatchObject({
      routes: undefined,
      cost: 0n,
      usage: { promptTokens: 0, completionTokens: 0 },
      countedBy: 'engine',
    });
  });

  it.each(['two words', 'x'.repeat(65), 'ünïcode', '', 'a\nb'])(
    'keeps no correlation id that is not short and plain: %j',
    async (id) => {
      const { store, settlement } = begin({ headers: { 'x-request-id': id } });
      await settlement.settle('completed', { attempts: 1 });
      expect(store.outcomes[0]?.correlationId).toBe('');
    },
  );

  it.each([
    ['cancelled', { attempts: 1, heard: false }, false],
    ['cancelled', { attempts: 1, heard: true }, true],
    ['cancelled', { attempts: 1 }, true],
    ['completed', { attempts: 1, heard: false }, true],
  ] as const)('bills the prompt of one that was %s, with %o: %s', async (kind, end, isBilled) => {
    const { store, settlement } = begin();
    await settlement.settle(kind, end);
    expect((store.outcomes[0]?.cost ?? 0n) > 0n).toBe(isBilled);
  });

  it('bills searches that brought a result, and counts none where none was made', async () => {
    const searched = begin({ searchPrice: 9_000n });
    searched.settlement.take([
      { type: 'search-call', choice: 0, id: 'a', input: '{}' },
      { type: 'search-result', choice: 0, id: 'a', result: { kind: 'found', sources: [] } },
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 1 } },
    ]);
    expect(await searched.settlement.settle('completed', { attempts: 1 })).toMatchObject({
      usage: { webSearches: 1 },
      cost: 150_000n + 600_000n + 9_000n,
    });
    const unused = begin({ searchPrice: 9_000n });
    expect((await unused.settlement.settle('cancelled', { attempts: 1 })).usage.webSearches).toBe(0);
    expect((await begin().settlement.settle('cancelled', { attempts: 1 })).usage.webSearches).toBeUndefined();
  });

  it('fails when the row could not be made durable', async () => {
    const { settlement } = begin({ failure: new Error('disk is full') });
    await expect(settlement.settle('completed', { attempts: 1 })).rejects.toThrow('disk is full');
  });
});

describe('what a request without an expected output is reserved at', () => {
  const word = { type: 'text-delta', choice: 0, text: 'a', deltas: 1 } as const;
  const told = (): { readonly costs: bigint[]; readonly run: ReturnType<typeof begin> } => {
    const costs: bigint[] = [];
    return { costs, run: begin({ accrue: ({ cost }) => costs.push(cost) }) };
  };

  it('is known at once, by an estimate of the prompt, and then told no more often than every 100 ms', () => {
    const { costs, run } = told();
    const prompt = run.settlement.expected().cost;
    expect(prompt).toBeGreaterThan(0n);
    for (let chunk = 0; chunk < 1000; chunk += 1) {
      run.clock.advance(1);
      run.settlement.take([word]);
    }
    expect(costs).toEqual(Array.from({ length: 10 }, (_, index) => prompt + BigInt(index + 1) * 100n * 600_000n));
  });

  it('is what the engine says as soon as it does', () => {
    const { costs, run } = told();
    run.clock.advance(100);
    run.settlement.take([word, { type: 'usage', usage: { promptTokens: 12, completionTokens: 7, cachedTokens: 4 } }]);
    expect(costs.at(-1)).toBe(8n * 150_000n + 4n * 30_000n + 7n * 600_000n);
  });
});

describe('what a request is expected to cost', () => {
  const word = { type: 'text-delta', choice: 0, text: 'a', deltas: 1 } as const;
  const usage = (completionTokens: number) =>
    ({ type: 'usage', usage: { promptTokens: 12, completionTokens } }) as const;
  const prompt = 12n * 150_000n;

  it('has the expected output in it from the start, stays so while that is delivered, and grows beyond it', () => {
    const costs: bigint[] = [];
    const answerLengths = createAnswerLengths();
    const run = begin({ accrue: ({ cost }) => costs.push(cost), answerLengths, fields: { max_tokens: 3 } });
    const estimate = run.settlement.expected().cost;
    expect(estimate).toBeGreaterThan(3n * 600_000n);
    for (const tokens of [1, 2, 3, 4, 5]) {
      run.clock.advance(100);
      run.settlement.take([word, usage(tokens)]);
    }
    expect(costs).toEqual([3n, 3n, 3n, 4n, 5n].map((tokens) => prompt + tokens * 600_000n));
  });

  it('is learned from the answers of its model, as far as they went', async () => {
    const answerLengths = createAnswerLengths();
    const learned = (): number => answerLengths.p90('demo/tiny', 4_096);
    for (let answer = 0; answer < 50; answer += 1) {
      const capped = begin({ answerLengths, fields: { max_tokens: 30 } });
      capped.settlement.take([usage(30)]);
      await capped.settlement.settle('completed', { attempts: 1 });
      await begin({ answerLengths }).settlement.settle('failed', { attempts: 1 });
    }
    expect(learned()).toBeGreaterThanOrEqual(4_096);
    for (let answer = 0; answer < 950; answer += 1) {
      const { settlement } = begin({ answerLengths });
      settlement.take([usage(700)]);
      await settlement.settle('completed', { attempts: 1 });
    }
    expect(learned()).toBeGreaterThanOrEqual(700);
    expect(learned()).toBeLessThanOrEqual(770);
    expect(begin({ answerLengths }).settlement.expected().cost).toBeGreaterThan(700n * 600_000n);
  });
});

describe('the split of reasoning', () => {
  const counters: TokenCounters = {
    countPrompt: () => Promise.resolve(12),
    countText: (text) => Promise.resolve(text.length),
  };
  const blind: TokenCounters = { ...counters, countPrompt: () => Promise.resolve(undefined) };
  const shown = { stream: true, stream_options: { include_usage: true } };
  const reported = { type: 'usage', usage: { promptTokens: 12, completionTokens: 3 } } as const;

  it.each([
    ['of a whole answer is shown', {}, counters, 'completed', [reported], 2],
    ['of a stream with usage is shown', shown, counters, 'completed', [reported], 2],
    ['of a stream without usage is not counted', { stream: true }, counters, 'completed', [reported], undefined],
    ['of an answer that its caller left is not shown', {}, counters, 'cancelled', [reported], undefined],
    ['of a count by the tokenizer is shown', {}, counters, 'completed', [], 2],
    ['of an estimate is not shown', {}, blind, 'completed', [], undefined],
    ['is not counted without a tokenizer', {}, undefined, 'completed', [reported], undefined],
  ] as const)('%s', async (_, fields, given, kind, usage, expected) => {
    const { settlement } = begin({ fields, ...(given === undefined ? {} : { counters: given }) });
    settlement.take([
      { type: 'reasoning-delta', choice: 0, text: 'hm', deltas: 1 },
      { type: 'text-delta', choice: 0, text: 'a', deltas: 1 },
      ...usage,
      { type: 'finish', choice: 0, reason: 'stop' },
    ]);
    expect((await settlement.settle(kind, { attempts: 1 })).usage.reasoningTokens).toBe(expected);
  });
});
