import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { goodBackendSpec } from '../support/catalog-objects.ts';
import { startKubeApiServer } from './support/api-server.ts';
import { chart, helm } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { kubeRequest } from './support/request.ts';
import { forFile } from '../support/for-file.ts';

// Kinds that were applied by hand before the chart was installed.

const namespace = 'weir-system';
const backends = `/apis/weir.dev/v1alpha1/namespaces/${namespace}/backends`;

const cluster = await forFile(startKubeApiServer());
await kubectl(cluster, ['create', 'namespace', namespace]);
await kubectl(cluster, ['apply', '-f', join(chart, 'files', 'crds')]);
await kubectl(cluster, ['wait', '--for=condition=Established', 'crd', 'backends.weir.dev', '--timeout=60s']);

const install = (...flags: readonly string[]): ReturnType<typeof helm> =>
  helm(['install', 'weir', chart, '--namespace', namespace, ...flags], { kubeconfig: cluster.kubeconfig });

/** The commands of the chart's page that hand the kinds over. */
const handOver = /## Existing CRDs.*?```sh\n(.*?)\n```/s
  .exec(readFileSync(join(chart, 'README.md'), 'utf8'))?.[1]
  ?.split('\n');

test('they are not taken over unasked, and the release can do without its own', async () => {
  const { code, stderr } = await install();
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/"\w+\.weir\.dev".* exists and cannot be imported into the current/),
  });
  await helm(['uninstall', 'weir', '--namespace', namespace], { kubeconfig: cluster.kubeconfig });
  expect(await install('--set', 'crds.install=false')).toMatchObject({ code: 0 });
  await helm(['uninstall', 'weir', '--namespace', namespace], { kubeconfig: cluster.kubeconfig });
});

test('the commands of the page hand them over, and their objects stay', async () => {
  const mine = { apiVersion: 'weir.dev/v1alpha1', kind: 'Backend', metadata: { name: 'mine' }, spec: goodBackendSpec };
  expect(await kubeRequest(cluster, 'POST', backends, { body: mine })).toMatchObject({ status: 201 });
  expect(handOver).toHaveLength(2);
  for (const command of handOver ?? []) {
    const [program, ...parameters] = command.split(' ');
    expect(program).toBe('kubectl');
    expect(await kubectl(cluster, parameters)).toMatchObject({ code: 0 });
  }
  expect(await install()).toMatchObject({ code: 0 });
  expect(await kubeRequest(cluster, 'GET', `${backends}/mine`)).toMatchObject({ status: 200 });
});
