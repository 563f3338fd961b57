import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleProblem, sampleReport } from '../../../test/support/sample-problem.ts';
import { createProblemLines } from './problem-lines.ts';

function setUp() {
  const clock = createFakeClock(Date.parse('2026-07-01T12:00:00Z'));
  const lines: string[] = [];
  const problems = createProblemLines({ print: (line) => void lines.push(line), clock });
  /** What was printed since the last call. */
  const printed = (): readonly string[] => lines.splice(0);
  return { clock, problems, printed };
}

const down = sampleProblem();
const begun = [
  'Problem: Backend/vllm-a: No endpoint takes requests.',
  '  → Start the engine: docs/operate/runbooks.md#weirbackendwithoutendpoint',
];

it('prints a problem when it appears and when it ends, and nothing while its figures change', () => {
  const { problems, printed } = setUp();
  problems.take(1, sampleReport());
  expect(printed()).toEqual([]);
  problems.take(1, sampleReport([down]));
  expect(printed()).toEqual(begun);
  problems.take(1, sampleReport([{ ...down, problem: 'Still none.' }]));
  expect(printed()).toEqual([]);
  problems.take(1, sampleReport());
  expect(printed()).toEqual(['Ended: Backend/vllm-a: Still none.']);
});

it('prints a problem of several services once, and its end with the last of them', () => {
  const { problems, printed } = setUp();
  problems.take(1, sampleReport([down]));
  expect(printed()).toEqual(begun);
  problems.take(2, sampleReport([down]));
  problems.take(1, sampleReport());
  expect(printed()).toEqual([]);
  problems.take(2, sampleReport());
  expect(printed()).toEqual([expect.stringMatching(/^Ended: Backend\/vllm-a/)]);
});

it('prints nothing anew when a service is started again and finds the same', () => {
  const { problems, printed } = setUp();
  problems.take(1, sampleReport([down]));
  printed();
  problems.take(1, sampleReport([{ ...down, since: '2026-07-01T13:00:00.000Z' }]));
  expect(printed()).toEqual([]);
});

it('prints that a service stays behind the others, though it sends nothing new', () => {
  const { clock, problems, printed } = setUp();
  problems.take(1, sampleReport([], 'v1'));
  problems.take(2, { ...sampleReport(), catalog: { version: 'v2', served_at: '2026-07-01T12:00:01.000Z' } });
  problems.look();
  expect(printed()).toEqual([]);
  clock.advance(31_000);
  problems.look();
  expect(printed()).toEqual([
    expect.stringMatching(/^Problem: service\/1: Serves another catalog/),
    expect.any(String),
  ]);
});

it('prints ten problems of one moment, and counts the others', () => {
  const { problems, printed } = setUp();
  const many = Array.from({ length: 25 }, (_, index) => sampleProblem({ object: `Backend/b${index}` }));
  problems.take(1, sampleReport(many));
  const lines = printed();
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe('15 more problems appeared: `weir problems` lists those there are.');
});
