import type { UpstreamCall } from '../../core/upstream.ts';

/** RFC 9110 §5.5, without the bytes past ASCII, which nobody may mean. */
const notInHeader = /[^\t\x20-\x7e]/;
/** RFC 9110 §5.6.2 */
const notInName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/;
const notInPath = /[^\x21-\x7e]/;

/** Bodies up to this size are put behind the head, so that both leave in one piece. */
const largestInOne = 64 * 1024;

/** The bytes of a call as HTTP/1.1, in one piece or two. Undefined when something in it cannot stand in a head. */
export function requestBytes(call: UpstreamCall): readonly Uint8Array[] | undefined {
  const { authority, cluster, path, accept, authorization, affinity, headers = [], body } = call;
  const { method = 'POST', contentType = 'application/json' } = call;
  if (notInPath.test(path) || notInHeader.test(authority) || notInHeader.test(cluster)) return undefined;
  if (authorization !== undefined && notInHeader.test(authorization)) return undefined;
  if (affinity !== undefined && notInHeader.test(affinity)) return undefined;
  if (headers.some(([name, value]) => notInName.test(name) || notInHeader.test(value))) return undefined;
  const further = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const content = method === 'GET' ? '' : `content-type: ${contentType}\r\n`;
  const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  const head =
    `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\nx-weir-cluster: ${cluster}\r\n` +
    `${affinity === undefined ? '' : `x-weir-affinity: ${affinity}\r\n`}` +
    `${content}${further}accept: ${accept}\r\nuser-agent: weir\r\n` +
    `${authorization === undefined ? '' : `authorization: ${authorization}\r\n`}` +
    `${method === 'GET' ? '' : `content-length: ${bodyBytes}\r\n`}\r\n`;
  if (bodyBytes > largestInOne)
    return [Buffer.from(head, 'latin1'), typeof body === 'string' ? Buffer.from(body) : body];
  const bytes = Buffer.allocUnsafe(head.length + bodyBytes);
  bytes.write(head, 'latin1');
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8');
  else bytes.set(body, head.length);
  return [bytes];
}
