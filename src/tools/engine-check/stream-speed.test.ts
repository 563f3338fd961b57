import { expect, it } from 'vitest';
import type { StreamSpeed } from '../../core/diagnosis.ts';
import { createStopwatch, markSlow, speedText } from './stream-speed.ts';

const at = (speed: StreamSpeed, index: number) => ({
  backend: 'a',
  endpoint: `10.0.0.${index}:80`,
  checks: [{ check: 'm: stream', found: 'good' as const, note: speedText(speed), speed }],
});
const speedOf = (first_token_ms: number, tokens_per_second: number | null): StreamSpeed => ({
  first_token_ms,
  tokens_per_second,
});

it('counts from the first output to the last one', () => {
  let now = 100;
  const { output, speed } = createStopwatch({ elapsed: () => now });
  expect(speed(5)).toBeUndefined();
  now += 40;
  output();
  expect(speed(1)).toEqual(speedOf(40, null));
  now += 200;
  output();
  expect([speed(5), speed(undefined)]).toEqual([speedOf(40, 20), speedOf(40, null)]);
});

it.each<readonly [string, readonly StreamSpeed[], readonly string[]]>([
  [
    'slow tokens',
    [
      [80, 60],
      [90, 55],
      [80, 5.6],
      [70, 62],
    ].map(([a = 0, b = 0]) => speedOf(a, b)),
    ['good', 'good', 'slow', 'good'],
  ],
  ['slow tokens of one of two', [speedOf(80, 5), speedOf(80, 50)], ['slow', 'good']],
  ['a slow first token', [speedOf(80, 50), speedOf(900, 50), speedOf(90, null)], ['good', 'slow', 'good']],
  ['nothing where the difference is chance', [speedOf(2, 9000), speedOf(50, 400)], ['good', 'good']],
  ['nothing below three times', [speedOf(200, 30), speedOf(590, 12)], ['good', 'good']],
  ['nothing of one endpoint', [speedOf(9000, 1)], ['good']],
])('marks %s', (_, speeds, found) => {
  expect(markSlow(speeds.map(at)).flatMap(({ checks }) => checks.map((one) => one.found))).toEqual(found);
});

it('names the median in the note', () => {
  const [, slow] = markSlow([speedOf(80, 50), speedOf(700, 5)].map(at));
  expect(slow?.checks[0]?.note).toBe(
    'first token 700 ms, 5 tokens/s; more than 3 times slower than the median of its Backend: first token 80 ms, 50 tokens/s',
  );
});
