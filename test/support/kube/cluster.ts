import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { customResources, group, version } from '../../../src/catalog/custom-resources.ts';
import type { KubeConnection } from './api-server.ts';
import { kubectl } from './kubectl.ts';
import { kubeRequest } from './request.ts';

/** The generated CRDs, as they are in the chart. */
export const crdFolder = join(import.meta.dirname, '..', '..', '..', 'charts', 'weir', 'crds');
const readyMs = 60_000;

/** Installs the CRDs and resolves when objects of them can be listed: a new kind is unknown, then busy, for about two seconds. */
export async function installCrds(connection: KubeConnection): Promise<void> {
  const { code, stderr } = await kubectl(connection, ['apply', '--server-side', '-f', crdFolder]);
  if (code !== 0) throw new Error(`the CRDs were refused:\n${stderr}`);
  for (const { plural } of customResources) {
    const until = performance.now() + readyMs;
    const path = `/apis/${group}/${version}/${plural}`;
    while ((await kubeRequest(connection, 'GET', path)).status !== 200) {
      if (performance.now() > until) throw new Error(`${path} could not be listed in time`);
      await sleep(50);
    }
  }
}

let made = 0;

/** Makes a namespace of a name that nobody else has. Nobody removes it: that takes a controller manager, and the cluster is thrown away. */
export async function makeNamespace(connection: KubeConnection): Promise<string> {
  made += 1;
  const name = `test-${process.pid}-${made}`;
  const { status, body } = await kubeRequest(connection, 'POST', '/api/v1/namespaces', {
    body: { metadata: { name } },
  });
  if (status !== 201) throw new Error(`no namespace (${status}): ${JSON.stringify(body)}`);
  return name;
}
