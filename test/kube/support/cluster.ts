import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubeConnection } from './api-server.ts';
import { kubectl } from './kubectl.ts';
import { kubeRequest } from './request.ts';
import { stuckAfterMs } from '../../support/stuck-after.ts';

const root = join(import.meta.dirname, '..', '..', '..');
/** The generated CRDs, as they are in the chart. */
const crdFolder = join(root, 'charts', 'weir', 'files', 'crds');
/** CRDs of the projects that the chart can work with. */
export const foreignCrdFolder = join(root, 'test', 'kube', 'foreign-crds');

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

/**
 * Installs the CRDs of a folder and resolves when objects of them can be listed: a new kind is unknown, then busy, for
 * about two seconds.
 */
export async function installCrds(
  connection: KubeConnection,
  folder = crdFolder,
  files: readonly string[] = readdirSync(folder),
): Promise<void> {
  const named = files.flatMap((file) => ['-f', join(folder, file)]);
  const { code, stderr } = await kubectl(connection, ['apply', '--server-side', ...named]);
  if (code !== 0) throw new Error(`the CRDs were refused:\n${stderr}`);
  for (const file of files) {
    const { spec } = parse(readFileSync(join(folder, file), 'utf8')) as Crd;
    const until = performance.now() + stuckAfterMs;
    const path = `/apis/${spec.group}/${spec.versions[0]?.name}/${spec.names.plural}`;
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
