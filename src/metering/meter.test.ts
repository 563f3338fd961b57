import { describe, expect, it } from 'vitest';
import type { RelayedEvent, TextEvent } from '../core/event.ts';
import type { Usage } from '../core/money.ts';
import { createMeter } from './meter.ts';

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

function billed(kind: Parameters<ReturnType<typeof createMeter>['bill']>[0], ...pieces: readonly RelayedEvent[][]) {
  const meter = createMeter(promptEstimate);
  for (const piece of pieces) meter.take(piece);
  return meter.bill(kind);
}

const none = { promptTokens: 0, completionTokens: 0 };

describe('what is billed (docs/reference/architecture.md §4.1)', () => {
  it('completed: what the engine reported', () => {
    expect(billed('completed', [text(), text(), finish, usage(told)])).toEqual({ usage: told, countedBy: 'engine' });
  });

  it('completed with a refusal: the same', () => {
    expect(billed('completed', [text(3, 'refusal-delta'), refused, usage(told)])).toEqual({
      usage: told,
      countedBy: 'engine',
    });
  });

  it('completed, with counts of zero: zero is a value', () => {
    expect(billed('completed', [text(), finish, usage({ ...none, cachedTokens: 0 })])).toEqual({
      usage: { ...none, cachedTokens: 0 },
      countedBy: 'engine',
    });
  });

  it('completed, with several reports: the last, never their sum', () => {
    const early = usage({ promptTokens: 12, completionTokens: 1 });
    expect(billed('completed', [text(), early], [text(), finish, usage(told)], [usage(told)]).usage).toEqual(told);
  });

  it('completed without a report: an estimate, and it says so', () => {
    expect(billed('completed', [text(3), text(2, 'reasoning-delta'), finish])).toEqual({
      usage: { promptTokens: 100, completionTokens: 5 },
      countedBy: 'estimate',
    });
  });

  it('completed without a report, an answer in one piece: what its text comes to, and not one token', () => {
    const whole: RelayedEvent = { type: 'text-delta', choice: 0, text: 'several words of an answer', deltas: 1 };
    expect(billed('completed', [whole, finish]).usage.completionTokens).toBe(4);
  });

  it('cancelled: the input and the output delivered, as the running usage has it', () => {
    const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });
    expect(billed('cancelled', [text(2), running])).toEqual({
      usage: { promptTokens: 12, completionTokens: 2, cachedTokens: 4 },
      countedBy: 'engine',
    });
  });

  it('cancelled after more output than was reported: the deltas since count too, as an estimate', () => {
    const running = usage({ promptTokens: 12, completionTokens: 2 });
    expect(billed('cancelled', [text(2), running], [text(), text(2)])).toEqual({
      usage: { promptTokens: 12, completionTokens: 5 },
      countedBy: 'estimate',
    });
  });

  it('cancelled before any output and any report: the estimated input', () => {
    expect(billed('cancelled')).toEqual({ usage: { promptTokens: 100, completionTokens: 0 }, countedBy: 'estimate' });
  });

  it('cancelled in the middle without a report: estimates of both', () => {
    expect(billed('cancelled', [text(4)], [text(2, 'reasoning-delta')])).toEqual({
      usage: { promptTokens: 100, completionTokens: 6 },
      countedBy: 'estimate',
    });
  });

  it('cancelled after the last report: all of it', () => {
    expect(billed('cancelled', [text(7), finish, usage(told)])).toMatchObject({
      usage: { promptTokens: 12, completionTokens: 7, cachedTokens: 4 },
      countedBy: 'engine',
    });
  });

  it('interrupted: the delivered output only', () => {
    const running = usage({ promptTokens: 12, completionTokens: 2, cachedTokens: 4 });
    expect(billed('interrupted', [text(2), running])).toEqual({
      usage: { promptTokens: 0, completionTokens: 2 },
      countedBy: 'engine',
    });
    expect(billed('interrupted', [text(3)])).toEqual({
      usage: { promptTokens: 0, completionTokens: 3 },
      countedBy: 'estimate',
    });
  });

  it('service-lost: the same', () => {
    expect(billed('service-lost', [text(2), usage(told)])).toMatchObject({
      usage: { promptTokens: 0, completionTokens: 7 },
    });
    expect(billed('service-lost')).toMatchObject({ usage: none });
  });

  it.each(['incomplete', 'failed', 'not-dispatched'] as const)('%s: nothing', (kind) => {
    expect(billed(kind, [text(3), usage(told)])).toEqual({ usage: none, countedBy: 'engine' });
  });

  it('counts the pieces of tool calls as output', () => {
    const start: RelayedEvent = { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'f' };
    const piece: RelayedEvent = { type: 'tool-delta', choice: 0, tool: 0, text: '{' };
    expect(billed('interrupted', [start, piece, piece]).usage.completionTokens).toBe(3);
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

    it('are counted where they brought a result, an empty one included', () => {
      expect(billed('completed', searched, [usage(told)]).usage).toEqual({ ...told, webSearches: 2 });
      expect(billed('cancelled', searched).usage).toEqual({
        ...{ promptTokens: 100, completionTokens: 0, webSearches: 2 },
      });
    });

    it('are none where all were refused, which is not the same as none asked for', () => {
      expect(billed('completed', [call('b'), refused, usage(told)]).usage).toEqual({ ...told, webSearches: 0 });
      expect(billed('completed', [usage(told)]).usage).toEqual(told);
    });

    it('are free where the answer was interrupted or never came', () => {
      expect(billed('interrupted', searched).usage.webSearches).toBeUndefined();
      expect(billed('incomplete', searched).usage.webSearches).toBeUndefined();
    });
  });
});
