import { expect, it } from 'vitest';
import type { RelayedEvent } from '../../core/event.ts';
import { createOutputWatch } from './output-timing.ts';

const text = (deltas = 1, choice = 0): RelayedEvent => ({ type: 'text-delta', choice, text: 'x', deltas });
const reasoning: RelayedEvent = { type: 'reasoning-delta', choice: 0, text: 'x', deltas: 1 };
const finish: RelayedEvent = { type: 'finish', choice: 0, reason: 'stop' };
const usage = { promptTokens: 9, completionTokens: 40 };

function timing(deliveries: readonly (readonly [number, readonly RelayedEvent[]])[], counted: object = {}) {
  const watch = createOutputWatch();
  for (const [elapsedMs, events] of deliveries) watch.take(events, elapsedMs);
  return watch.timing({ ...usage, ...counted });
}

it('runs from the first output to the last, not to what comes with the end', () => {
  const deliveries = [
    [5, [{ type: 'usage', usage }]],
    [100.5, [text(3)]],
    [200, [text()]],
    [300.25, [text(2), { type: 'usage', usage }]],
    [400, [finish]],
    [500, [{ type: 'usage', usage }]],
  ] as const;
  expect(timing(deliveries)).toEqual({ tokens: 40, tokensAtFirst: 3, firstMs: 100.5, lastMs: 300.25 });
});

it('counts the fragments of a tool call', () => {
  const start: RelayedEvent = { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'f' };
  const delta: RelayedEvent = { type: 'tool-delta', choice: 0, tool: 0, text: '{' };
  expect(
    timing([
      [7, [start, delta]],
      [9, [delta]],
    ]),
  ).toEqual({ tokens: 40, tokensAtFirst: 2, firstMs: 7, lastMs: 9 });
});

it('leaves out reasoning that was counted and not delivered', () => {
  const counted = { reasoningTokens: 30 };
  expect(timing([[7, [text()]]], counted)?.tokens).toBe(10);
  expect(
    timing(
      [
        [6, [reasoning]],
        [7, [text()]],
      ],
      counted,
    )?.tokens,
  ).toBe(40);
});

const search: readonly RelayedEvent[] = [
  { type: 'search-call', choice: 0, id: 'a', input: '{}' },
  { type: 'search-result', choice: 0, id: 'a', result: { kind: 'found', sources: [] } },
];

it.each(search)('is absent after a search, whose time is not the pace of the engine: $type', (event) => {
  expect(timing([[7, [text(), event, text()]]])).toBeUndefined();
});

it('is that of the one choice with output, whatever else ends', () => {
  expect(timing([[7, [text(), { ...finish, choice: 1 }]]])).toBeDefined();
  expect(
    timing([
      [5, [{ type: 'usage', usage }]],
      [7, [text(), text(1, 1)]],
    ]),
  ).toBeUndefined();
});

it('is absent without output, with several choices, and without tokens', () => {
  expect(timing([[7, [finish]]])).toBeUndefined();
  expect(timing([[7, [text(), text(1, 1)]]])).toBeUndefined();
  expect(timing([[7, [text()]]], { completionTokens: 0 })).toBeUndefined();
  expect(timing([[7, [text()]]], { completionTokens: 5, reasoningTokens: 5 })).toBeUndefined();
});
