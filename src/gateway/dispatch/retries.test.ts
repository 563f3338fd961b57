import { describe, expect, it } from 'vitest';
import type { EngineError, Fault } from '../../core/event.ts';
import { createRetryPolicy, createStructureRetries, refusalOf } from './retries.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';

const failure: Fault = { kind: 'status', detail: '', status: 500, engineError: 'other' };
const connect: Fault = { kind: 'connect', detail: '' };
const structure: Fault = { kind: 'structure', detail: 'tools' };
const policy = (failedOn: number, places = 4, spendStructureRetry = () => true) =>
  createRetryPolicy({ failedOn, places, spendStructureRetry });

describe('another route', () => {
  it('is tried after every failure of a prompt that is new', () => {
    const { mayRetry } = policy(1);
    for (let attempt = 0; attempt < 4; attempt += 1) expect(mayRetry(failure)).toBe(true);
  });

  it('is tried once for a prompt on which engines of two routes failed', () => {
    const { mayRetry } = policy(2);
    expect([mayRetry(failure), mayRetry(failure)]).toEqual([true, false]);
  });

  it('is tried whenever a route cannot be reached', () => {
    const { mayRetry } = policy(2);
    for (let attempt = 0; attempt < 4; attempt += 1) expect(mayRetry(connect)).toBe(true);
  });

  it('is tried for a defect of structure as long as its caller has retries', () => {
    expect(policy(0, 4, () => true).mayRetry(structure)).toBe(true);
    expect(policy(0, 4, () => false).mayRetry(structure)).toBe(false);
  });
});

describe('the end of a request', () => {
  it.each([
    [0, 4, 'other'],
    [1, 4, 'other'],
    [2, 4, 'repeated-failure'],
    [1, 1, 'repeated-failure'],
  ])('whose prompt failed on %i of %i routes before has the reason %s', (failedOn, routes, refusedFor) => {
    expect(policy(failedOn, routes).explain('other')).toBe(refusedFor);
  });

  it('is as it was for every other reason', () => {
    expect(policy(2).explain('account')).toBe('account');
    expect(policy(2).explain(undefined)).toBeUndefined();
  });
});

function begin() {
  const clock = createFakeClock();
  const retries = createStructureRetries({ clock });
  /** How many retries a caller has, all of which it takes. */
  const left = (caller: string): number => {
    let count = 0;
    while (retries.spend(caller)) count += 1;
    return count;
  };
  return { clock, retries, left };
}

describe('retries of answers that miss their structure', () => {
  it('are ten, for each caller', () => {
    const { left } = begin();
    expect([left('one'), left('one'), left('two')]).toEqual([10, 0, 10]);
  });

  it('come back one a minute, up to ten', () => {
    const { clock, left } = begin();
    left('one');
    clock.advance(59_999);
    expect(left('one')).toBe(0);
    clock.advance(1);
    expect(left('one')).toBe(1);
    clock.advance(86_400_000);
    expect(left('one')).toBe(10);
  });

  it('are earned by sound answers, one by two', () => {
    const { retries, left } = begin();
    left('one');
    for (let answer = 0; answer < 5; answer += 1) retries.earn('one');
    retries.earn('two');
    expect([left('one'), left('two')]).toEqual([2, 10]);
    for (let answer = 0; answer < 100; answer += 1) retries.earn('one');
    expect(left('one')).toBe(10);
  });

  it('are forgotten of the caller that was not seen for longest when there are too many', () => {
    const { retries, left } = begin();
    left('one');
    left('two');
    for (let other = 0; other < 9999; other += 1) retries.spend(`caller ${other}`);
    expect([left('two'), left('one')]).toEqual([0, 10]);
  });
});

const engine = (engineError: EngineError): Fault => ({ kind: 'status', detail: '', engineError });
const told: Fault = { ...engine('bad-request'), about: 'temperature' };

describe('why no route answered a request', () => {
  it.each<readonly [string, readonly Fault[], string | undefined]>([
    ['is unknown when nothing was asked', [], undefined],
    ['is unknown when no route could be reached', [connect, connect], undefined],
    ['is the reason of the one that was asked', [engine('bad-request')], 'bad-request'],
    ['is the reason that all share', [engine('overloaded'), engine('overloaded')], 'overloaded'],
    ['is the request, when all find some fault with it', [engine('context-length'), told], 'bad-request'],
    ['is the request, when a censor is among them', [engine('content-policy'), told], 'bad-request'],
    ['is the structure, when no answer had it', [structure, structure], 'structure'],
    ['is disputed, when one refused and another failed', [engine('bad-request'), connect], 'disputed'],
    ['is disputed, when one missed the structure and another failed', [connect, structure], 'disputed'],
    ['is disputed, when one missed the structure and another refused', [structure, told], 'disputed'],
    ['is unknown, when they failed in several ways', [connect, engine('overloaded')], undefined],
  ])('%s', (_, faults, refusedFor) => {
    expect(refusalOf(faults).refusedFor).toBe(refusedFor);
  });

  it.each<readonly [string, readonly Fault[], true | undefined]>([
    ['an account', [engine('account')], true],
    ['an account and a wrong path', [engine('account'), engine('not-found')], true],
    ['an expired certificate', [{ ...connect, cause: 'certificate-expired' }], true],
    ['an account and a connection that is refused', [engine('account'), connect], undefined],
    ['an engine that is full', [engine('overloaded')], undefined],
    ['nothing', [], undefined],
  ])('lasts until a repair where every attempt failed for such a cause: %s', (_, faults, isLasting) => {
    expect(refusalOf(faults).isLasting).toBe(isLasting);
  });

  it('comes with the part of the request that an engine named', () => {
    expect(refusalOf([engine('bad-request'), told])).toEqual({ refusedFor: 'bad-request', about: 'temperature' });
    expect(refusalOf([told, connect])).toEqual({ refusedFor: 'disputed' });
  });
});
