import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { askModels, type ModelsAnswer } from './ask-models.ts';

const plain = {
  cluster: { tls: { mode: 'Disabled' } },
  path: '/v1',
  headers: [['authorization', 'Bearer of-the-engine']],
} as const;

async function listening(
  answer: RequestListener,
  tls?: { readonly key: string; readonly cert: string },
): Promise<string> {
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ask = (endpoint: string, backend: Parameters<typeof askModels>[0] = plain): Promise<ModelsAnswer> => {
  const { tls } = backend.cluster;
  const authority = tls.mode === 'Disabled' ? 'vllm-a:8000' : tls.serverName;
  return askModels(backend, { endpoint, authority, read: chatErrors.read });
};

it('asks with the credential, and follows no redirect', async () => {
  const seen: unknown[] = [];
  const endpoint = await listening(({ url, headers }, response) => {
    seen.push([url, headers.host, headers.authorization]);
    response.writeHead(302, { location: 'https://elsewhere.example/login' }).end();
  });
  expect(await ask(endpoint)).toEqual({ kind: 'fails', cause: 'redirects', status: 302 });
  expect(seen).toEqual([['/v1/models', 'vllm-a:8000', 'Bearer of-the-engine']]);
});

it.each<readonly [number, string, string, ModelsAnswer]>([
  [200, 'application/json', '{"data":[]}', { kind: 'lists', models: undefined }],
  [200, 'application/json', '{"data":[{"id":"a"}],"has_more":true}', { kind: 'lists', models: undefined }],
  [
    200,
    'application/json',
    '{"data":[{"id":"a","max_model_len":8}]}',
    { kind: 'lists', models: [{ id: 'a', max_model_len: 8 }] },
  ],
  [200, 'application/json', 'ok', { kind: 'lists', models: undefined }],
  [200, 'text/html; charset=utf-8', '<html>sign in</html>', { kind: 'fails', cause: 'not-an-api', status: 200 }],
  [
    401,
    'application/json',
    '{"error":"Unauthorized"}',
    { kind: 'fails', cause: 'credential-refused', status: 401, said: 'Unauthorized' },
  ],
  [403, 'text/plain', 'no', { kind: 'fails', cause: 'credential-refused', status: 403, said: 'no' }],
  [
    503,
    'application/json',
    '{"error":{"message":"Loading model"}}',
    { kind: 'fails', cause: 'loading', status: 503, said: 'Loading model' },
  ],
  [
    400,
    'text/plain',
    'Client sent an HTTP request to an HTTPS server.',
    { kind: 'fails', cause: 'tls-expected', status: 400 },
  ],
  // An engine may have no list of its models, and be well.
  [404, 'text/plain', '404 page not found', { kind: 'unclear' }],
  [405, 'text/plain', '', { kind: 'unclear' }],
  [500, 'text/plain', 'x'.repeat(200_000), { kind: 'unclear' }],
  [429, 'text/plain', '', { kind: 'unclear' }],
])('%i of %s: %s', async (status, type, body, expected) => {
  const endpoint = await listening((_, response) => response.writeHead(status, { 'content-type': type }).end(body));
  expect(await ask(endpoint)).toEqual(expected);
});

it('names why there is no connection', async () => {
  const { key, certificate: cert } = selfSigned;
  const custom = (ca: string, serverName: string) => ({
    ...plain,
    cluster: { tls: { mode: 'Custom', ca, serverName } as const },
  });
  const answer: RequestListener = (_, response) => void response.end('{}');
  const secure = await listening(answer, { key, cert });
  const open = await listening(answer);
  const causeAt = async (endpoint: string, backend?: Parameters<typeof askModels>[0]) => {
    const said = await ask(endpoint, backend);
    return said.kind === 'fails' ? said.cause : said.kind;
  };
  expect(await causeAt(secure, custom(cert, 'localhost'))).toBe('lists');
  expect(await causeAt(secure, custom(cert, '127.0.0.1'))).toBe('lists');
  expect(await causeAt(secure, custom(cert, 'other.example'))).toBe('certificate-other-name');
  expect(await causeAt(secure, custom(cert, '127.0.0.2'))).toBe('certificate-other-name');
  const byPublic = { ...plain, cluster: { tls: { mode: 'System', serverName: 'localhost' } as const } };
  expect(await causeAt(secure, byPublic)).toBe('certificate-unknown-authority');
  expect(await causeAt(open, custom(cert, 'localhost'))).toBe('no-tls');
  expect(await causeAt('127.0.0.1:1')).toBe('connection-refused');
});
