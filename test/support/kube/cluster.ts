import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubeConnection } from './api-server.ts';
import { kubeRequest } from './request.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const readyMs = 60_000;
const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

/** The generated CRDs, as they are in the chart. */
export const generatedCrds = (): readonly Crd[] => crdsIn(join(root, 'charts', 'weir', 'files', 'crds'));

/** CRDs of the projects that the chart can work with. */
export const foreignCrds = (): readonly Crd[] => crdsIn(join(root, 'test', 'kube', 'foreign-crds'));

function crdsIn(crdFolder: string): readonly Crd[] {
  const files = readdirSync(crdFolder).filter((name) => name.endsWith('.yaml'));
  return files.map((name) => parse(readFileSync(join(crdFolder, name), 'utf8')) as Crd);
}

/** Installs CRDs and resolves when objects of them can be listed: a new kind is unknown, then busy, for about two seconds. */
export async function installCrds(connection: KubeConnection, crds: readonly Crd[] = generatedCrds()): Promise<void> {
  for (const crd of crds) {
    const path = `${crdPath}/${crd.metadata.name}?fieldManager=test&force=true&fieldValidation=Strict`;
    const contentType = 'application/apply-patch+yaml';
    const { status, body } = await kubeRequest(connection, 'PATCH', path, { body: crd, contentType });
    if (status >= 300) throw new Error(`${crd.metadata.name} was refused (${status}): ${JSON.stringify(body)}`);
  }
  for (const { spec } of crds) {
    const until = performance.now() + readyMs;
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
