// @suite long
/** What the simulated API server is compared with is what a real one answers: `--update` records it anew. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordExchange } from '../simulation/cluster/exchanges.ts';
import { startKubeApiServer } from './support/api-server.ts';
import { installCrds, makeNamespace } from './support/cluster.ts';
import { kubeRequest } from './support/request.ts';
import { forFile } from '../support/for-file.ts';

const file = join(import.meta.dirname, '..', 'simulation', 'recordings', 'api-server.jsonl');

const server = await forFile(startKubeApiServer());
await installCrds(server);

test('a real API server answers as it is recorded for the simulation', async () => {
  const namespace = await makeNamespace(server);
  const recording = await recordExchange(
    {
      ask: (method, path, body) =>
        kubeRequest(server, method, path, {
          ...(body === undefined ? {} : { body }),
          ...(method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
        }),
      watch: async (path, from) => {
        const query = `watch=true&resourceVersion=${from}&timeoutSeconds=1`;
        const { body } = await kubeRequest(server, 'GET', `${path}?${query}`);
        if (typeof body !== 'string') return [body];
        return body
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown);
      },
      forget: async () => {
        await server.kill();
        await server.compact();
        await server.start();
        // It is ready before it has read the objects.
        const path = `/apis/weir.dev/v1alpha1/namespaces/${namespace}/backends`;
        await expect.poll(async () => (await kubeRequest(server, 'GET', path)).status).toBe(200);
      },
    },
    namespace,
  );
  await expect(recording.map((line) => `${JSON.stringify(line)}\n`).join('')).toMatchFileSnapshot(file);
});
