import { expect, it } from 'vitest';
import { sampleNow } from '../../test/support/sample-database.ts';
import { adminToken, call, samplePortal } from '../../test/support/sample-portal.ts';
import { listAudit } from '../books/accounts/audit.ts';
import { keepVectorReference } from '../books/accounts/vector-references.ts';

const headers = { authorization: `Bearer ${adminToken}` };

it('shows reference vectors, and accepts those of another route for an admin, with an entry in the audit trail', async () => {
  const { server, queries } = await samplePortal();
  await keepVectorReference(
    queries,
    {
      ...{ modelId: 'a/b', routeId: 'a/b@one', upstreamModel: 'bge', texts: 'digest', dimensions: 2 },
      ...{ since: sampleNow, vectors: [Float32Array.of(1, 2)] },
    },
    undefined,
  );
  const list = async () => (await call(server, { url: '/api/v1/models/vectors', headers })).body;
  const since = new Date(sampleNow).toISOString();
  const shown = { model: 'a/b', route: 'a/b@one', upstream_model: 'bge', dimensions: 2, since, awaited: false };
  expect(await list()).toEqual({ data: [shown], next_cursor: null });
  const accept = (payload: object) =>
    call(server, { method: 'POST', url: '/api/v1/models/accept-vectors', payload, headers });
  const { body } = await accept({ model: 'A/b', route: 'a/b@two' });
  expect(body).toMatchObject({ route: 'a/b@two', upstream_model: null, dimensions: null, awaited: true });
  expect(await list()).toMatchObject({ data: [body] });
  expect(await accept({ model: 'a/b', route: 'two' })).toMatchObject({
    status: 400,
    body: { error: { message: '"two" is not a route of a/b: expected its id, a/b@ and the Backend name.' } },
  });
  expect(await listAudit(queries, { action: 'model.accept-vectors' }, 9)).toMatchObject([
    { actor: { kind: 'admin-token' }, objectId: 'a/b', before: { route: 'a/b@one' }, after: { route: 'a/b@two' } },
  ]);
});
