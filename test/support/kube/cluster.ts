import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { KubeConnection } from './api-server.ts';
import { kubeRequest } from './request.ts';

const crdFolder = join(import.meta.dirname, '..', '..', '..', 'charts', 'weir', 'files', 'crds');
const readyMs = 60_000;
const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } };
}

/** The generated CRDs, as they are in the chart. */
export function generatedCrds(): readonly Crd[] {
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
    const path = `/apis/${spec.group}/v1alpha1/${spec.names.plural}`;
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
