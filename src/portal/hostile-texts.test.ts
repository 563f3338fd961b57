// @suite both-databases
import type { InjectOptions } from 'fastify';
import { expect, it } from 'vitest';
import { portalRequests } from '../../test/support/portal-requests.ts';
import { samplePortal, withToken } from '../../test/support/sample-portal.ts';

/** Fields of text that the requests of `portalRequests` leave out. */
const moreFields: Readonly<Record<string, object>> = {
  'POST /api/v1/workspaces/:id/credits': { note: 'x' },
  'POST /api/v1/workspaces': { credit: '1', credit_limit: '1' },
  'PATCH /api/v1/workspaces/:id': { name: 'x', credit_limit: '1' },
  'POST /api/v1/workspaces/:id/keys': {
    ...{ name: 'x', expires_at: '2027-01-01T00:00:00Z', models: ['x/y'] },
    ...{ budget: { limit: '1', period: 'day' }, rate: 1, burst: 1 },
  },
  'PATCH /api/v1/keys/:id': { expires_at: '2027-01-01T00:00:00Z', models: ['x/y'], rate: 1, burst: 1 },
  'POST /api/v1/keys/:id/rotate': { overlap_hours: 1 },
};
const queries: readonly string[] = [
  ...['cursor', 'search', 'model', 'key', 'workspace', 'actor', 'object', 'action', 'tag', 'from', 'to', 'by', 'limit'],
];
/** Without a gateway, the first two are 502. The third does not end. */
const left: ReadonlySet<string> = new Set([
  'POST /api/v1/playground/chat',
  'POST /api/v1/playground/embeddings',
  'GET /api/v1/events',
]);

const hostile: readonly (readonly [string, unknown])[] = [
  ['a NUL', 'a\0b'],
  ['a lone surrogate', 'a\ud800b'],
  ['a number past bigint', '99999999999999999999'],
  ['a number', 2 ** 63],
];

/** The request with the value in each field of its body, in each part of its path and in each parameter. */
function variantsOf(name: string, request: InjectOptions, value: unknown): readonly InjectOptions[] {
  const { method = 'GET', url } = request;
  const text = encodeURIComponent(String(value).replaceAll(/[\ud800-\udfff]/g, '\ufffd'));
  const [path = ''] = typeof url === 'string' ? url.split('?') : [];
  const parts = path.split('/');
  const paths = parts.flatMap((part, at) => (at > 3 && part !== '' ? [parts.with(at, text).join('/')] : []));
  const body: Record<string, unknown> = { ...(request.payload as Record<string, unknown>), ...moreFields[name] };
  const bodies = Object.entries(body).flatMap(([field, own]) => {
    const inner = typeof own === 'object' && own !== null && !Array.isArray(own) ? Object.keys(own) : [];
    const changes = [value, [value], ...inner.map((key) => ({ ...(own as object), [key]: value }))];
    return changes.map((changed) => ({ ...body, [field]: changed }));
  });
  return [
    ...bodies.map((payload) => ({ method, url: path, payload })),
    ...paths.map((changed) => ({ ...request, url: changed })),
    ...(method === 'GET' ? queries.map((query) => ({ ...request, url: `${path}?${query}=${text}` })) : []),
  ];
}

it.each(hostile)('is refused or stored, and never an error of the service: %s', async (_, value) => {
  const sample = await samplePortal();
  const failed: unknown[] = [];
  for (const [name, request] of Object.entries(portalRequests(sample))) {
    if (left.has(name)) continue;
    for (const sent of variantsOf(name, request, value)) {
      const reply = await sample.server.inject({ ...sent, headers: withToken });
      if (reply.statusCode >= 500) failed.push([name, sent, reply.statusCode]);
    }
  }
  expect(failed).toEqual([]);
});
