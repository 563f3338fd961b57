import { describe, expect, it } from 'vitest';
import type { EngineError, Fault } from '../../core/event.ts';
import { createTried } from './tried.ts';
import { endpointOf, plannedOf } from '../../../test/support/route-of.ts';

const [a, b] = [plannedOf('a'), plannedOf('b')];
const status = (engineError: EngineError): Fault => ({ kind: 'status', detail: '', status: 500, engineError });
const connect: Fault = { kind: 'connect', detail: '' };

describe('a route', () => {
  it.each<readonly [string, readonly Fault[], boolean]>([
    ['stays open after two failures', [status('other'), status('other')], true],
    ['is over after three failures', [status('other'), status('other'), { kind: 'stalled', detail: '' }], false],
    ['stays open whatever number of endpoints cannot be reached', [connect, connect, connect, connect], true],
    ['is over after a fault of the request', [status('bad-request')], false],
    ['is over after a fault of the account', [status('account')], false],
  ])('%s', (_, faults, isOpen) => {
    const tried = createTried();
    for (const fault of faults) tried.failed(a, fault);
    expect([tried.on(a) !== 'all', tried.on(b) !== 'all']).toEqual([isOpen, true]);
  });

  it('is over after attempts on eight endpoints', () => {
    const tried = createTried();
    for (let number = 1; number < 8; number += 1) tried.began(a, endpointOf('a', number));
    expect(tried.on(a)).not.toBe('all');
    tried.began(a, endpointOf('a', 8));
    expect(tried.on(a)).toBe('all');
  });
});

describe('an endpoint', () => {
  it('is avoided from the begin of its attempt, and free again when the attempt was not needed', () => {
    const tried = createTried();
    const { name } = endpointOf('a');
    tried.began(a, endpointOf('a'));
    expect(tried.on(a)).toEqual(new Set([name]));
    tried.abandoned(a, endpointOf('a'));
    expect(tried.on(a)).toEqual(new Set());
  });
});

describe('a fork', () => {
  it('knows what was tried before it, and neither it nor its origin learns of the other', () => {
    const origin = createTried();
    origin.began(a, endpointOf('a', 1));
    const fork = origin.fork();
    fork.began(a, endpointOf('a', 2));
    fork.failed(b, status('account'));
    const names = (...numbers: readonly number[]) => new Set(numbers.map((number) => endpointOf('a', number).name));
    expect([origin.on(a), fork.on(a), origin.on(b), fork.on(b)]).toEqual([names(1), names(1, 2), new Set(), 'all']);
  });
});
