import { describe, expect, it } from 'vitest';
import type { OutcomeKind } from '../../core/settled-request.ts';
import type { RelayedEvent, TextEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';
import { createMeter, type Meter } from './meter.ts';

const promptEstimate = 100;
const text = (deltas = 1, type: TextEvent['type'] = 'text-delta'): RelayedEvent => ({
  type,
  choice: 0,
  text: 'x',
  deltas,
});
const usage = (counts: Usage): RelayedEvent => ({ type: 'usage', usage: counts });
const finish: RelayedEvent = { type: 'finish', choice: 0, reason: 'stop' };
const refused: RelayedEvent = { type: 'finish', choice: 0, reason: 'content_filter' };
const told: Usage = { promptTokens: 12, completionTokens: 7, cachedTokens: 4, reasoningTokens: 2 };

function billed(kind: Parameters<Meter['bill']>[0], ...pieces: readonly RelayedEvent[][]) {
  const meter = createMeter(promptEstimate, undefined);
  for (const piece of pieces) meter.take(piece);
  return meter.bill(kind);
}

const none = { promptTokens: 0, completionTokens: 0 };

describe('what is billed (docs/concepts/architecture.md §4.1)', () => {
  it('completed: what the engine reported', async () => {
    expect(await billed('completed', [text(), text(), finish, usage(told)])).toEqual({
      usage: told,
      countedBy: 'engine',
    });
  });

  it('completed with a refusal: the same', async () => {
    expect(await billed('completed', [text(3, 'refusal-delta'), refused, usage(told)])).toEqual({
      usage: told,
      countedBy: 'engine',
    });
  });

  it('completed, with counts of zero: zero is a value', async () => {
    expect(await billed('completed', [text(), finish, usage({ ...none, cachedTokens: 0 })])).toEqual({
      usage: { ...none, cachedTokens: 0 },
      countedBy: 'engine',
    });
  });

  it('completed, with several reports: the last, never their sum', async () => {
    const early = usage({ promptTokens: 12, completionTokens: 1 });
    expect((await billed('completed', [text(), early], [text(), finish, usage(told)], [usage(told)])).usage).toEqual(
      told,
    );
  });

  it('completed without a report: an estimate, and it says so', async () => {
    expect(await billed('completed', [text(3), text(2, 'reasoning-delta'), finish])).toEqual({
      usage: { promptTokens: 100, completionTokens: 5 },
      countedBy: 'estimate',
    });
  });

  it('completed without a report, an answer in one piece: what its text comes to, and not one token', async () => {
    const whole: RelayedEvent = { type: 'text-delta', choice: 0, text: 'several words of an answer', deltas: 1 };
    expect((await billed('completed', [whole, finish])).usage.completionTokens).toBe(4);
  });

  it('cancelled: the input and the output delivered, as the running usage has it', async () => {
    const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });
    expect(await billed('cancelled', [text(2), running])).toEqual({
      usage: { promptTokens: 12, completionTokens: 2, cachedTokens: 4 },
      countedBy: 'engine',
    });
  });

  it('cancelled after more output than was reported: the deltas since count too, as an estimate', async () => {
    const running = usage({ promptTokens: 12, completionTokens: 2 });
    expect(await billed('cancelled', [text(2), running], [text(), text(2)])).toEqual({
      usage: { promptTokens: 12, completionTokens: 5 },
      countedBy: 'estimate',
    });
  });

  it('cancelled before any output and any report: the estimated input', async () => {
    expect(await billed('cancelled')).toEqual({
      usage: { promptTokens: 100, completionTokens: 0 },
      countedBy: 'estimate',
    });
  });

  it('cancelled in the middle without a report: estimates of both', async () => {
    expect(await billed('cancelled', [text(4)], [text(2, 'reasoning-delta')])).toEqual({
      usage: { promptTokens: 100, completionTokens: 6 },
      countedBy: 'estimate',
    });
  });

  it('cancelled after the last report: all of it', async () => {
    expect(await billed('cancelled', [text(7), finish, usage(told)])).toMatchObject({
      usage: { promptTokens: 12, completionTokens: 7, cachedTokens: 4 },
      countedBy: 'engine',
    });
  });

  it('interrupted: the delivered output only', async () => {
    const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });
    expect(await billed('interrupted', [text(2), running])).toEqual({
      usage: { promptTokens: 0, completionTokens: 2 },
      countedBy: 'engine',
    });
    expect(await billed('interrupted', [text(3)])).toEqual({
      usage: { promptTokens: 0, completionTokens: 3 },
      countedBy: 'estimate',
    });
  });

  it('service-lost: the same', async () => {
    expect(await billed('service-lost', [text(2), usage(told)])).toMatchObject({
      usage: { promptTokens: 0, completionTokens: 7 },
    });
    expect(await billed('service-lost')).toMatchObject({ usage: none });
  });

  it.each(['incomplete', 'failed', 'unheard', 'not-dispatched'] as const)('%s: nothing', async (kind) => {
    expect(await billed(kind, [text(3), usage(told)])).toEqual({ usage: none, countedBy: 'engine' });
  });

  it('counts the pieces of tool calls as output', async () => {
    const start: RelayedEvent = { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'f' };
    const piece: RelayedEvent = { type: 'tool-delta', choice: 0, tool: 0, text: '{' };
    expect((await billed('interrupted', [start, piece, piece])).usage.completionTokens).toBe(3);
  });

  describe('searches of the web', () => {
    const call = (id: string): RelayedEvent => ({
      type: 'search-call',
      choice: 0,
      id,
      input: '{"query":"x"}',
    });
    const found = (id: string): RelayedEvent => ({
      type: 'search-result',
      ...{ choice: 0, id, result: { kind: 'found', sources: [] } },
    });
    const refused: RelayedEvent = {
      type: 'search-result',
      ...{ choice: 0, id: 'b', result: { kind: 'error', code: 'unavailable' } },
    };
    const searched = [call('a'), found('a'), call('b'), refused, call('c'), found('c')];

    it('are counted where they brought a result, an empty one included', async () => {
      expect((await billed('completed', searched, [usage(told)])).usage).toEqual({ ...told, webSearches: 2 });
      expect((await billed('cancelled', searched)).usage).toEqual({
        ...{ promptTokens: 100, completionTokens: 0, webSearches: 2 },
      });
    });

    it('are none where all were refused, which is not the same as none asked for', async () => {
      expect((await billed('completed', [call('b'), refused, usage(told)])).usage).toEqual({ ...told, webSearches: 0 });
      expect((await billed('completed', [usage(told)])).usage).toEqual(told);
    });

    it('are free where the answer was interrupted or never came', async () => {
      expect((await billed('interrupted', searched)).usage.webSearches).toBeUndefined();
      expect((await billed('incomplete', searched)).usage.webSearches).toBeUndefined();
    });
  });
});

const said = (words: string): RelayedEvent => ({ type: 'text-delta', choice: 0, text: words, deltas: 1 });
const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });

/** One token per word, and a prompt of 40. */
const counters = {
  countPrompt: () => Promise.resolve<number | undefined>(40),
  countText: (said: string) => Promise.resolve<number | undefined>(said.trim().split(/\s+/).length),
};
const cannot = { countPrompt: () => Promise.resolve(undefined), countText: () => Promise.resolve(undefined) };

function counted(kind: OutcomeKind, events: readonly RelayedEvent[], how: typeof counters | undefined = counters) {
  const meter = createMeter(400, how);
  meter.take(events);
  return meter.bill(kind);
}

describe('a count that no engine reported', () => {
  it.each<readonly [string, OutcomeKind, readonly RelayedEvent[], Usage]>([
    ['completed: prompt and answer', 'completed', [said('a b'), said(' c')], { promptTokens: 40, completionTokens: 3 }],
    ['cancelled: prompt and what was delivered', 'cancelled', [said('a b')], { promptTokens: 40, completionTokens: 2 }],
    ['cancelled before any output', 'cancelled', [], { promptTokens: 40, completionTokens: 0 }],
    [
      'cancelled after a report: what came since is added',
      'cancelled',
      [said('a b'), running, said('c d e')],
      { promptTokens: 12, completionTokens: 5, cachedTokens: 4 },
    ],
    ['interrupted: only what was delivered', 'interrupted', [said('a b c')], { promptTokens: 0, completionTokens: 3 }],
    [
      'service-lost: only what was delivered',
      'service-lost',
      [said('a b c')],
      { promptTokens: 0, completionTokens: 3 },
    ],
    [
      'completed: a long answer',
      'completed',
      [said('a '.repeat(10_000)), said('b')],
      { promptTokens: 40, completionTokens: 10_001 },
    ],
  ])('is the tokenizer’s. %s', async (_, kind, events, expected) => {
    expect(await counted(kind, events)).toEqual({ usage: expected, countedBy: 'tokenizer' });
  });

  it('stays an estimate where nobody can count', async () => {
    expect(await counted('completed', [said('a b')], cannot)).toMatchObject({ countedBy: 'estimate' });
    expect(await createMeter(400, undefined).bill('cancelled')).toMatchObject({ countedBy: 'estimate' });
  });

  it.each(['countPrompt', 'countText'] as const)('stays an estimate of both parts where %s cannot', async (part) => {
    expect(await counted('completed', [said('a b')], { ...counters, [part]: cannot[part] })).toEqual({
      usage: { promptTokens: 400, completionTokens: 1 },
      countedBy: 'estimate',
    });
  });

  it('stays an estimate where the answer is too long to be kept', async () => {
    const long = said('ab'.repeat(4 * 1024 * 1024));
    expect(await counted('completed', [long])).toMatchObject({ countedBy: 'estimate' });
  });

  it('is not asked for when the engine reported all of it', async () => {
    const told: Usage = { promptTokens: 9, completionTokens: 7 };
    const never = {
      countPrompt: () => Promise.reject(new Error('asked')),
      countText: () => Promise.reject(new Error('asked')),
    };
    const meter = createMeter(400, never);
    meter.take([said('a b'), usage(told)]);
    expect(await meter.bill('completed')).toEqual({ usage: told, countedBy: 'engine' });
  });
});

describe('an estimate in place of an impossible count', () => {
  const replaced = (counts: Usage, prompt: boolean, completion: boolean): RelayedEvent => ({
    ...{ type: 'usage', usage: counts, countedBy: 'estimate', estimated: { prompt, completion } },
  });
  const estimates: Usage = { promptTokens: 400, completionTokens: 99 };

  it.each<readonly [string, readonly RelayedEvent[], Usage]>([
    ['the prompt', [said('a b'), replaced(estimates, true, false)], { promptTokens: 40, completionTokens: 99 }],
    ['the output', [said('a b'), replaced(estimates, false, true)], { promptTokens: 400, completionTokens: 2 }],
    ['both', [said('a b'), replaced(estimates, true, true)], { promptTokens: 40, completionTokens: 2 }],
    [
      'what came after a true count',
      [said('a b'), running, said('c d e'), replaced(estimates, false, true)],
      { promptTokens: 400, completionTokens: 5 },
    ],
    [
      'a cache within the counted prompt',
      [said('a'), replaced({ ...estimates, cachedTokens: 300 }, true, true)],
      { promptTokens: 40, completionTokens: 1, cachedTokens: 40 },
    ],
  ])('is the tokenizer’s: %s', async (_, events, expected) => {
    expect(await counted('completed', events)).toEqual({ usage: expected, countedBy: 'tokenizer' });
    // Twin: without a tokenizer it stays an estimate.
    expect(await counted('completed', events, cannot)).toMatchObject({ countedBy: 'estimate' });
  });
});
