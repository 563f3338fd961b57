import { expect, test } from 'vitest';
import { startKubeApiServer } from './support/api-server.ts';
import { kubeRequest } from './support/request.ts';
import { forFile } from '../support/for-file.ts';

const server = await forFile(startKubeApiServer());

const configMaps = '/api/v1/namespaces/default/configmaps';
const put = async (name: string, text: string): Promise<string> => {
  const body = { metadata: { name }, data: { text } };
  await kubeRequest(server, 'DELETE', `${configMaps}/${name}`);
  const answer = await kubeRequest(server, 'POST', configMaps, { body });
  expect(answer.status).toBe(201);
  return (answer.body as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
};

test('keeps its objects over a kill, at the same address', async () => {
  await put('kept', 'before');
  await server.kill();
  await expect(kubeRequest(server, 'GET', configMaps)).rejects.toThrow(/ECONNREFUSED/);
  await server.start();
  expect(await kubeRequest(server, 'GET', `${configMaps}/kept`)).toMatchObject({
    status: 200,
    body: { data: { text: 'before' } },
  });
});

test('answers 410 to who asks for what etcd has forgotten', async () => {
  const old = await put('old', 'first');
  await put('old', 'second');
  await server.kill();
  await server.compact();
  await server.start();
  const { body } = await kubeRequest(server, 'GET', `${configMaps}?watch=1&resourceVersion=${old}&timeoutSeconds=5`);
  expect(body).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
});

test('says nothing while it is frozen', async () => {
  await server.freeze();
  const answer = kubeRequest(server, 'GET', '/livez');
  let answered = false;
  void answer.then(() => (answered = true));
  // A second one of our own events cannot overtake it: the kernel takes the connection, nobody reads it.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(answered).toBe(false);
  server.thaw();
  expect((await answer).status).toBe(200);
});
