import { expect, it } from 'vitest';
import { checkRows } from './check-rows.ts';

const row = { requestId: 'a', correlationId: 'r1', cost: 5n };
const callOf = (status: number) => ({ event: { id: 1 }, status: () => status, end: () => 'ended' as const });
const heard = new Set([1]);

it.each([
  ['nothing wrong', [row], [callOf(200)], heard, []],
  ['two rows of a request', [row, { ...row, requestId: 'b' }], [callOf(200)], heard, ['has two rows']],
  ['a row of nobody', [row], [], heard, ['r1 has a row, and nobody asked']],
  ['a row of a refused request', [row], [callOf(402)], heard, ['was refused with 402, and has a row']],
  ['a bill without an engine', [row], [callOf(200)], new Set<number>(), ['is billed, and no engine got it']],
])('finds %s', (_, rows, calls, heardOf, expected) => {
  const found: string[] = [];
  checkRows(rows, { calls, heard: heardOf }, (_invariant, text) => void found.push(text));
  expect(found).toEqual(expected);
});
