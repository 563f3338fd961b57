import { expect, it } from 'vitest';
import { createRepeatLimit, limitInfo, limitRepeats } from './repeat-limit.ts';

it('logs twenty records of a kind in ten seconds, each kind for itself, and says later how many were left out', () => {
  let now = 0;
  const limit = createRepeatLimit({ now: () => now });
  const told = (kind: string, times: number): number =>
    Array.from({ length: times }, () => limit.take(kind)).filter(({ isLogged }) => isLogged).length;
  expect(told('a', 500)).toBe(20);
  expect(told('b', 3)).toBe(3);
  now = 9_999;
  expect(limit.take('a')).toEqual({ isLogged: false, suppressed: undefined });
  now = 10_000;
  expect(limit.take('a')).toEqual({ isLogged: true, suppressed: 481 });
  expect(limit.take('a')).toEqual({ isLogged: true, suppressed: undefined });
});

it('keeps no more than a bounded number of kinds', () => {
  const limit = createRepeatLimit({ now: () => 0 });
  for (let count = 0; count < 20; count += 1) limit.take('first');
  for (let count = 0; count < 10_000; count += 1) limit.take(`kind ${count}`);
  expect(limit.take('first').isLogged).toBe(true);
});

it('limits warnings and errors of a part by their message, and nothing that is no trouble', () => {
  let now = 0;
  const logged: string[] = [];
  const note = (level: string) => (facts: object, message: string) =>
    void logged.push(`${level} ${message} ${JSON.stringify(facts)}`);
  const log = limitRepeats({ info: note('info'), warn: note('warn'), error: note('error') }, { elapsed: () => now });
  for (let count = 0; count < 25; count += 1) {
    for (const level of ['info', 'warn', 'error'] as const) log[level]({ count }, `${level} of a part`);
  }
  const of = (level: string) => logged.filter((line) => line.startsWith(level));
  expect([of('info').length, of('warn').length, of('error').length]).toEqual([25, 20, 20]);
  expect(of('error').at(-1)).toBe('error error of a part {"count":19}');
  now = 10_000;
  log.error({ count: 25 }, 'error of a part');
  expect(of('error').at(-1)).toBe('error error of a part {"count":25,"suppressed":5}');
});

it('limits a message that strangers cause by its kinds: many of one hide no other', () => {
  let now = 0;
  const logged: object[] = [];
  const log = limitInfo({ info: (facts) => void logged.push(facts) }, { elapsed: () => now }, 'token refused');
  for (let count = 0; count < 500; count += 1) log('expired', { count });
  log('no-identity', { count: 0 });
  expect(logged).toHaveLength(21);
  expect(logged.at(-1)).toEqual({ count: 0 });
  now = 10_000;
  log('expired', { count: 500 });
  expect(logged.at(-1)).toEqual({ count: 500, suppressed: 480 });
});
