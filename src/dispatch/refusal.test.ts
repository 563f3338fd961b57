import { describe, expect, it } from 'vitest';
import type { EngineError, Fault } from '../core/event.ts';
import { refusalOf } from './refusal.ts';

const engine = (engineError: EngineError): Fault => ({ kind: 'status', detail: '', engineError });
const structure: Fault = { kind: 'structure', detail: 'tools' };
const connect: Fault = { kind: 'connect', detail: '' };
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

  it('comes with the part of the request that an engine named', () => {
    expect(refusalOf([engine('bad-request'), told])).toEqual({ refusedFor: 'bad-request', about: 'temperature' });
    expect(refusalOf([told, connect])).toEqual({ refusedFor: 'disputed' });
  });
});
