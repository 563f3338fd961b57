import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { routeOf } from '../../test/support/route-of.ts';
import type { AnswerEvent } from '../core/event.ts';
import type { StructureChecker } from '../core/structure.ts';
import { createStructureRetries } from '../dispatch/structure-retries.ts';
import { judgeFor } from './judge.ts';

/** `yes` is sound, `no` misses the schema, anything else is no JSON. */
const check: StructureChecker['check'] = ({ text }) =>
  Promise.resolve(
    text === 'yes'
      ? { kind: 'sound' }
      : { kind: 'defective', detail: '', ...(text === 'no' ? { missesSchema: true } : {}) },
  );

const answer = (text: string): readonly AnswerEvent[] => [
  { type: 'text-delta', choice: 0, text, deltas: 1 },
  { type: 'finish', choice: 0, reason: 'stop' },
];
const responseFormat = { type: 'json_schema', name: 's', schema: {} } as const;

function begin(routes: number) {
  const findings: string[] = [];
  const judge = judgeFor(
    { tools: [], responseFormat, sampling: {} },
    {
      ...{ structures: { check }, caller: 'key_one', routes },
      retries: createStructureRetries({ clock: createFakeClock() }),
      health: { structure: (route, { verdict }) => findings.push(`${route.backend.name} ${verdict}`) },
    },
  );
  if (judge === undefined) throw new Error('nothing to judge');
  return { judge, findings };
}

describe('the answers to one request', () => {
  it.each<readonly [string, readonly string[], readonly string[]]>([
    ['a miss is the route’s fault where another route does better', ['no', 'yes'], ['b sound', 'a defective']],
    ['and so is what is no JSON', ['?', 'yes'], ['b sound', 'a defective']],
    ['a miss on every route may be the schema’s', ['no', 'no'], ['a missed', 'b missed']],
    ['and so may be words that every route says', ['?', '?'], ['a missed', 'b missed']],
    ['a miss on the only route may be the schema’s', ['no'], ['a missed']],
    ['what is no JSON is the fault of the only route', ['?'], ['a defective']],
  ])('%s', async (_, texts, expected) => {
    const { judge, findings } = begin(texts.length);
    for (const [at, text] of texts.entries()) await judge.whole(answer(text), routeOf('ab'[at] ?? ''));
    judge.close();
    expect(findings).toEqual(expected);
  });

  it('say nothing certain of a route where others were not asked', async () => {
    const { judge, findings } = begin(2);
    await judge.whole(answer('?'), routeOf('a'));
    judge.close();
    expect(findings).toEqual(['a missed']);
  });

  it.each([
    ['yes', 'a sound'],
    ['no', 'a missed'],
    ['?', 'a defective'],
  ])('streamed as %s, leave the finding %s', async (text, finding) => {
    const { judge, findings } = begin(2);
    judge.take(answer(text));
    judge.streamed(routeOf('a'));
    await expect.poll(() => findings).toEqual([finding]);
  });
});
