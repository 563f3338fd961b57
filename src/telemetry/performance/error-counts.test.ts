import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import type { Fault } from '../../core/event.ts';
import type { AttemptEnd } from '../../gateway/core/health.ts';
import { createErrorCounts } from './error-counts.ts';

function setUp() {
  const clock = createFakeClock();
  const counts = createErrorCounts(clock);
  const outcome = (changes: Partial<Outcome>, times = 1): void => {
    for (let time = 0; time < times; time += 1) counts.outcome(sampleOutcome({ modelId: 'a/b', ...changes }));
  };
  return { clock, counts, outcome };
}

const failedWith = (fault: Partial<Fault>): AttemptEnd => ({
  kind: 'failed',
  fault: { kind: 'status', detail: '', ...fault },
});

describe('the count of failed requests', () => {
  it.each<readonly [string, Partial<Outcome>, readonly [failed: number, total: number] | undefined]>([
    ['one that was served', { kind: 'completed' }, [0, 1]],
    ['one that broke off', { kind: 'interrupted' }, [1, 1]],
    ['one that all routes failed', { kind: 'failed' }, [1, 1]],
    ['one that failed on a key that the engine refuses', { kind: 'failed', refusedFor: 'account' }, [1, 1]],
    ['one that failed like another of the same words', { kind: 'failed', refusedFor: 'repeated-failure' }, [1, 1]],
    ['one whose caller left while it was answered', { kind: 'cancelled', firstTokenMs: 9 }, [0, 1]],
    ['one whose caller left before', { kind: 'cancelled', firstTokenMs: undefined }, undefined],
    ['one that the service lost', { kind: 'service-lost' }, undefined],
    ['one that the engine calls wrong', { kind: 'failed', refusedFor: 'bad-request' }, undefined],
    ['one that is too long', { kind: 'failed', refusedFor: 'context-length' }, undefined],
    ['one that a provider censors', { kind: 'failed', refusedFor: 'content-policy' }, undefined],
    ['one with a schema that no answer meets', { kind: 'failed', refusedFor: 'structure' }, undefined],
    ['one that some engines call wrong', { kind: 'failed', refusedFor: 'disputed' }, undefined],
  ])('%s', (_, changes, expected) => {
    const { counts, outcome } = setUp();
    outcome({ firstTokenMs: undefined, ...changes });
    const [found] = [...counts.ofModels()];
    expect(found && [found[1].failed, found[1].total]).toEqual(expected);
  });

  it.each([3_600_000, -3_600_000])('is not changed by a wall clock that is set by %d ms', (jump) => {
    const { clock, counts, outcome } = setUp();
    outcome({ kind: 'failed' }, 28);
    clock.jump(jump);
    expect([...counts.ofModels()][0]?.[1]).toMatchObject({ failed: 28, total: 28 });
    clock.advance(15 * 60_000);
    expect([...counts.ofModels()][0]?.[1]).toMatchObject({ total: 0 });
  });

  it("says nothing for a flood of callers' own faults, and all for as many of the engine's", () => {
    const { counts, outcome } = setUp();
    outcome({ kind: 'failed', refusedFor: 'bad-request' }, 28);
    expect([...counts.ofModels()]).toEqual([]);
    outcome({ kind: 'failed', refusedFor: 'other' }, 28);
    expect([...counts.ofModels()][0]?.[1]).toMatchObject({ failed: 28, total: 28 });
  });

  it('counts one that was refused for want of capacity as failed', () => {
    const { counts } = setUp();
    counts.unavailable('a/b');
    expect([...counts.ofModels()]).toEqual([['a/b', expect.objectContaining({ failed: 1, total: 1 })]]);
  });

  it('looks back a quarter of an hour, and knows of the last minutes by themselves', () => {
    const { clock, counts, outcome } = setUp();
    for (let pair = 0; pair < 10; pair += 1) {
      outcome({ kind: 'failed' });
      outcome({ kind: 'completed' });
    }
    clock.advance(5 * 60_000);
    outcome({ kind: 'completed' }, 20);
    expect([...counts.ofModels()][0]?.[1]).toEqual({
      ...{ windowMs: 900_000, failed: 10, total: 40, inARow: 0, estimated: 0 },
      lately: { failed: 0, total: 20 },
      lastFault: undefined,
    });
    clock.advance(11 * 60_000);
    expect([...counts.ofModels()][0]?.[1]).toMatchObject({ failed: 0, total: 20, lately: { failed: 0, total: 0 } });
  });

  it.each<readonly [string, readonly (readonly [Outcome['kind'], number])[], readonly [failed: number, total: number]]>(
    [
      [
        'an outage ends with a success',
        [
          ['completed', 20],
          ['failed', 5],
          ['completed', 1],
        ],
        [0, 1],
      ],
      [
        'an outage from the first request on',
        [
          ['failed', 3],
          ['completed', 1],
        ],
        [0, 1],
      ],
      [
        'two bad moments',
        [
          ['failed', 2],
          ['completed', 1],
        ],
        [2, 3],
      ],
      [
        'every fifth fails',
        Array.from(
          { length: 4 },
          () =>
            [
              ['completed', 4],
              ['failed', 1],
            ] as const,
        ).flat(),
        [4, 20],
      ],
      [
        'four in a row',
        [
          ['completed', 20],
          ['failed', 4],
          ['completed', 1],
        ],
        [4, 25],
      ],
    ],
  )('%s', (_, outcomes, expected) => {
    const { counts, outcome } = setUp();
    for (const [kind, times] of outcomes) outcome({ kind }, times);
    const [found] = [...counts.ofModels()];
    expect([found?.[1].failed, found?.[1].total]).toEqual(expected);
  });

  it('remembers that the last ones failed after the window has passed, until a success or a repair', () => {
    const { clock, counts, outcome } = setUp();
    outcome({ kind: 'failed' }, 4);
    counts.attempt('vllm-a', failedWith({ status: 500 }));
    clock.advance(3_600_000);
    expect([...counts.ofModels()][0]?.[1]).toMatchObject({ total: 0, inARow: 4 });
    counts.recovered([{ ...routeOf('vllm-a'), id: 'a/b@vllm-a' }]);
    expect([[...counts.ofModels()], [...counts.ofBackends()]]).toEqual([[], []]);
  });

  it('forgets what is not in the catalog any more', () => {
    const { counts, outcome } = setUp();
    outcome({ kind: 'failed' });
    counts.attempt('b', failedWith({}));
    counts.retain({ models: new Map(), clusters: [] });
    expect([[...counts.ofModels()], [...counts.ofBackends()]]).toEqual([[], []]);
  });
});

describe('the count of failed attempts', () => {
  it('knows how the newest one failed', () => {
    const { counts } = setUp();
    counts.attempt('b', failedWith({ status: 500, engineError: 'other' }));
    expect([...counts.ofBackends()][0]?.[1].lastFault).toEqual({ cause: 'server-error', status: 500 });
    counts.attempt('b', failedWith({ kind: 'stalled' }));
    counts.attempt('b', { kind: 'complete' });
    expect([...counts.ofBackends()][0]?.[1].lastFault).toEqual({ cause: 'silent', status: undefined });
    counts.attempt('b', failedWith({ status: 413, engineError: 'misconfigured' }));
    expect([...counts.ofBackends()][0]?.[1].lastFault).toEqual({ cause: 'misconfigured', status: 413 });
  });

  it('keeps the first sentence of an engine until it fails in another way', () => {
    const { counts } = setUp();
    const said = (fault: Parameters<typeof failedWith>[0]): string | undefined => {
      counts.attempt('b', failedWith(fault));
      return [...counts.ofBackends()][0]?.[1].lastFault?.said;
    };
    expect(said({ status: 500, engineError: 'other', said: 'worker 1 is gone' })).toBe('worker 1 is gone');
    expect(said({ status: 500, engineError: 'other', said: 'worker 2 is gone' })).toBe('worker 1 is gone');
    expect(said({ status: 401, engineError: 'account', said: 'no such key' })).toBe('no such key');
    expect(said({ kind: 'stalled' })).toBeUndefined();
  });

  it.each<readonly [string, AttemptEnd, readonly [failed: number, total: number] | undefined]>([
    ['one that was answered', { kind: 'complete' }, [0, 1]],
    ['one that could not connect', failedWith({ kind: 'connect' }), [1, 1]],
    ['one that was answered with 500', failedWith({ status: 500, engineError: 'other' }), [1, 1]],
    ['one that was answered with 401', failedWith({ status: 401, engineError: 'account' }), [1, 1]],
    ['one on a model that is not there', failedWith({ status: 404, engineError: 'not-found' }), [1, 1]],
    ['one that a proxy answered', failedWith({ status: 413, engineError: 'misconfigured' }), [1, 1]],
    ['one that was answered with 400', failedWith({ status: 400, engineError: 'bad-request' }), undefined],
    ['one that is too long', failedWith({ status: 400, engineError: 'context-length' }), undefined],
    ['one whose answer lacks the form asked for', failedWith({ kind: 'structure' }), undefined],
    ['one that was slower than another', { kind: 'beaten' }, undefined],
    ['one that was not needed any more', { kind: 'aborted' }, undefined],
  ])('%s', (_, end, expected) => {
    const { counts } = setUp();
    counts.attempt('b', end);
    const [found] = [...counts.ofBackends()];
    expect(found && [found[1].failed, found[1].total]).toEqual(expected);
  });
});

it('counts the answers in a row whose tokens are estimated, until the next one that something counts', () => {
  const { counts, outcome } = setUp();
  const estimated = (): number | undefined => [...counts.ofBackends()][0]?.[1].estimated;
  const answered = (countedBy: Outcome['countedBy'], kind: Outcome['kind'] = 'completed'): void => {
    counts.attempt('vllm-a', { kind: 'complete' });
    outcome({ routeId: 'a/b@vllm-a', countedBy, kind });
  };
  answered('estimate');
  answered('estimate');
  // Its caller left: no engine reports usage before the end.
  answered('estimate', 'cancelled');
  expect(estimated()).toBe(2);
  answered('tokenizer');
  expect(estimated()).toBe(0);
});
