import { describe, expect, it } from 'vitest';
import type { Condition } from './resources/status.ts';
import { lagEvent, statusEvents } from './status-events.ts';

function condition(type: string, status: Condition['status'], reason: string, message = ''): Condition {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: '2026-06-01T00:00:00Z' };
}

const told = (before: readonly Condition[], after: readonly Condition[]): readonly string[] =>
  statusEvents(before, after).map(({ severity, reason }) => `${severity} ${reason}`);

describe('what a person should notice', () => {
  it.each([
    ['a refusal from the start', undefined, condition('Accepted', 'False', 'Invalid'), ['Warning Refused']],
    ['that it is in order from the start', undefined, condition('Accepted', 'True', 'Accepted'), []],
    [
      'another fault than before',
      condition('Accepted', 'False', 'Invalid', 'a'),
      condition('Accepted', 'False', 'Invalid', 'b'),
      ['Warning Refused'],
    ],
    [
      'the same fault again',
      condition('Accepted', 'False', 'Invalid', 'a'),
      condition('Accepted', 'False', 'Invalid', 'a'),
      [],
    ],
    ['that it is listed first', undefined, condition('Listed', 'True', 'Listed'), ['Normal Listed']],
    [
      'that it is not any more',
      condition('Listed', 'True', 'Listed'),
      condition('Listed', 'False', 'BelowServiceLevel'),
      ['Warning Unlisted'],
    ],
    ['that it has left, once', condition('Listed', 'True', 'Listed'), condition('Listed', 'False', 'NotInCatalog'), []],
    [
      'other vectors',
      condition('SameVectors', 'Unknown', 'NotProbed'),
      condition('SameVectors', 'False', 'OtherVectors'),
      ['Warning OtherVectors'],
    ],
    [
      'that the vectors of the reference have changed, too',
      condition('SameVectors', 'False', 'OtherVectors'),
      condition('SameVectors', 'False', 'VectorsChanged'),
      ['Warning VectorsChanged'],
    ],
    [
      'the same vectors again, and not those from the start',
      condition('SameVectors', 'False', 'VectorsChanged'),
      condition('SameVectors', 'True', 'SameVectors'),
      ['Normal SameVectors'],
    ],
    ['vectors that were never others', undefined, condition('SameVectors', 'True', 'SameVectors'), []],
    [
      'a waiver',
      condition('Retiring', 'True', 'RetireAt'),
      condition('Retiring', 'True', 'NoticeWaived'),
      ['Warning NoticeWaived'],
    ],
    [
      'a retirement that is taken back',
      condition('Retiring', 'True', 'RetireAt'),
      condition('Retiring', 'False', 'Staying'),
      ['Normal RetirementCancelled'],
    ],
    [
      'a lag that every change has',
      condition('Programmed', 'True', 'Programmed'),
      condition('Programmed', 'False', 'Lagging'),
      [],
    ],
    [
      'an Envoy that refuses',
      condition('Programmed', 'False', 'Lagging'),
      condition('Programmed', 'False', 'EnvoyRefused'),
      ['Warning NotProgrammed'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(told(before === undefined ? [] : [before], [after])).toEqual(expected);
  });

  it('an Envoy that lags for longer than a change takes', () => {
    const lagging = [condition('Programmed', 'False', 'Lagging', 'weir-1')];
    const since = Date.parse('2026-06-01T00:00:00Z');
    expect(lagEvent(lagging, since + 29_000, 30_000)).toBeUndefined();
    expect(lagEvent(lagging, since + 30_000, 30_000)).toMatchObject({ reason: 'NotProgrammed', note: 'weir-1' });
  });
});
