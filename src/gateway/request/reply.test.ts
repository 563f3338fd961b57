import { expect, it } from 'vitest';
import { dialects } from '../dialects/dialects.ts';
import { requestIdHeaders } from './reply.ts';

const idHeaders = (id: string | undefined) =>
  requestIdHeaders(dialects.messages, { method: 'POST', path: '/', header: () => id });

it('repeats the id of a request, unless it is longer than any id', () => {
  expect(idHeaders('b2f1c0de-0000-4000-8000-000000000001')).toEqual([
    ['request-id', 'b2f1c0de-0000-4000-8000-000000000001'],
  ]);
  expect(idHeaders('x'.repeat(144))).toHaveLength(1);
  expect(idHeaders('x'.repeat(145))).toEqual([]);
  expect(idHeaders(undefined)).toEqual([]);
});
