import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createFailedSignIns } from './failed-sign-ins.ts';

it('counts each address for itself, a /64 of IPv6 as one, and forgets after ten minutes', () => {
  const clock = createFakeClock();
  const failures = createFailedSignIns(clock.elapsed);
  for (let count = 0; count < 30; count += 1) failures.failed(`2001:db8::${count + 1}`);
  expect(failures.blockedFor('2001:db8::ffff')).toBe(600);
  expect(failures.blockedFor('2001:db8:0:1::1')).toBeUndefined();
  for (let count = 0; count < 29; count += 1) failures.failed('::ffff:192.0.2.1');
  expect(failures.blockedFor('192.0.2.1')).toBeUndefined();
  failures.failed('192.0.2.1');
  expect(failures.blockedFor('192.0.2.1')).toBe(600);
  clock.advance(599_000);
  expect(failures.blockedFor('192.0.2.1')).toBe(1);
  clock.advance(1_000);
  expect(failures.blockedFor('192.0.2.1')).toBeUndefined();
});

it('remembers a bounded number of addresses', () => {
  const failures = createFailedSignIns(() => 0);
  for (let count = 0; count < 30; count += 1) failures.failed('192.0.2.1');
  for (let count = 0; count < 10_000; count += 1) failures.failed(`10.0.${count >> 8}.${count & 255}`);
  expect(failures.blockedFor('192.0.2.1')).toBeUndefined();
});
