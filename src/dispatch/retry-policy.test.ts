import { describe, expect, it } from 'vitest';
import type { Fault } from '../core/event.ts';
import { createRetryPolicy } from './retry-policy.ts';
import type { DispatchEnd } from './run.ts';

const failure: Fault = { kind: 'status', detail: '', status: 500, engineError: 'other' };
const connect: Fault = { kind: 'connect', detail: '' };
const structure: Fault = { kind: 'structure', detail: 'tools' };
const policy = (failedOn: number, routes = 4, spend = () => true) => createRetryPolicy({ failedOn, routes, spend });

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
  const end: DispatchEnd = { kind: 'failed', attempts: 2, isPartial: true, refusedFor: 'other' };

  it.each([
    [0, 4, 'other'],
    [1, 4, 'other'],
    [2, 4, 'repeated-failure'],
    [1, 1, 'repeated-failure'],
  ])('whose prompt failed on %i of %i routes before has the reason %s', (failedOn, routes, refusedFor) => {
    expect(policy(failedOn, routes).explain(end)).toEqual({ ...end, refusedFor });
  });

  it('is as it was for every other reason', () => {
    const other: DispatchEnd = { ...end, refusedFor: 'account' };
    expect(policy(2).explain(other)).toBe(other);
  });
});
