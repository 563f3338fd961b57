import { expect, it } from 'vitest';
import type { UpstreamCall } from '../../core/upstream.ts';
import { requestBytes } from './request-bytes.ts';

const call: UpstreamCall = { cluster: 'c', authority: 'h:1', path: '/p?q=1', body: '', accept: 'application/json' };
const written = (more: Partial<UpstreamCall> = {}): string | undefined => {
  const pieces = requestBytes({ ...call, ...more });
  return pieces && Buffer.concat(pieces).toString();
};

it('writes a GET without a body or anything that speaks of one', () => {
  expect(written({ method: 'GET', headers: [['x-subscription-token', 'key']] })).toBe(
    'GET /p?q=1 HTTP/1.1\r\nhost: h:1\r\nconnection: keep-alive\r\nx-weir-cluster: c\r\n' +
      'x-subscription-token: key\r\naccept: application/json\r\nuser-agent: weir\r\n\r\n',
  );
});

it('writes a POST with its body and the type of it', () => {
  expect(written({ contentType: 'application/x-www-form-urlencoded', body: 'q=ü' })).toMatch(
    /^POST [^]*\r\ncontent-type: application\/x-www-form-urlencoded\r\n[^]*\r\ncontent-length: 4\r\n\r\nq=ü$/,
  );
});

it.each<readonly [string, Partial<UpstreamCall>]>([
  ['the path', { path: '/p HTTP/1.1\r\nx: y' }],
  ['the value of a header', { headers: [['x', 'a\r\nb: c']] }],
  ['the name of a header', { headers: [['x: y\r\nz', 'a']] }],
  ['the authorization', { authorization: 'a\nb' }],
])('writes nothing when %s could break the head', (_, more) => {
  expect(written(more)).toBeUndefined();
});
