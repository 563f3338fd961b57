import { expect, it } from 'vitest';
import { call, samplePortal } from '../../test/support/sample-portal.ts';

const url = '/internal/log-level';

it('the portal shows and changes its log level with the token of the database only', async () => {
  const { server, portal } = await samplePortal();
  const headers = { authorization: `Bearer ${await portal.internalToken()}` };
  const put = (payload: object | string) => call(server, { method: 'PUT', url, headers, payload });
  expect(await call(server, { url, headers })).toMatchObject({ status: 200, body: { level: 'info' } });
  expect(await put({ level: 'debug' })).toMatchObject({ status: 200, body: { level: 'debug' } });
  expect(await put({ level: 'loud' })).toMatchObject({
    ...{ status: 400, body: { error: { field: 'level', message: 'level: expected one of debug, info, warn, error' } } },
  });
  // The admin token, which `call` sends unless told otherwise, is not that of the database.
  for (const method of ['GET', 'PUT'] as const) {
    expect(await call(server, { method, url, payload: { level: 'error' } }), method).toMatchObject({ status: 401 });
  }
  expect(portal.logLevel.current()).toBe('debug');
});
