import { describe, expect, inject, test } from 'vitest';
import { readScalerSettings } from '../../src/read-settings.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn, type Rendered, template } from './support/helm.ts';
import type { PodTemplate } from './support/pod-shape.ts';
import { kubeRequest } from './support/request.ts';

const connection = inject('kubernetes');

const byKind = (objects: readonly Rendered[], kind: string): Rendered | undefined =>
  objects.find((object) => object.kind === kind);

interface IngressRule {
  readonly ports: readonly object[];
  readonly from?: readonly { readonly podSelector?: { readonly matchLabels: object } }[];
}

describe('the scaler of the chart', () => {
  const scalerOf = async (scaler: object, values: object = {}) => {
    const objects = objectsIn(await template({ scaler: { enabled: true, ...scaler }, ...values }));
    const named = objects.filter((object) => object.metadata.name.endsWith('-scaler'));
    const deployment = byKind(named, 'Deployment')?.spec as { readonly template: PodTemplate } | undefined;
    if (deployment === undefined) throw new Error('there is no scaler');
    const env = new Map(deployment.template.spec.containers[0]?.env?.map(({ name, value }) => [name, value]));
    return { objects, named, template: deployment.template, env };
  };

  test('is not there unless it is wanted', async () => {
    const names = objectsIn(await template({})).map(({ metadata }) => metadata.name);
    expect(names).toContain('weir-pods');
    expect(names.filter((name) => name.includes('scaler'))).toEqual([]);
  });

  test('has no rights in the cluster, and no token', async () => {
    const { named, template: pod } = await scalerOf({});
    expect(named.map(({ kind }) => kind).toSorted()).toEqual(['Deployment', 'NetworkPolicy', 'Service']);
    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false });
    expect(pod.spec).not.toHaveProperty('serviceAccountName');
  });

  test('is given settings that `weir scaler` understands, with the address of all pods of the gateway', async () => {
    const { env, objects } = await scalerOf({ tls: { secretName: 'scaler-tls' } });
    const settings = readScalerSettings(Object.fromEntries(env));
    expect(settings).toMatchObject({
      ...{ WEIR_SCALER_HOST: '0.0.0.0', WEIR_SCALER_PORT: 9004, WEIR_OPS_HOST: '0.0.0.0', WEIR_OPS_PORT: 9090 },
      WEIR_TLS_CERTIFICATE_FILE: '/etc/weir/tls/tls.crt',
    });
    const { hostname, port } = settings.WEIR_SERVICES[0] ?? expect.fail('an address');
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === hostname);
    expect(service?.spec).toMatchObject({
      clusterIP: 'None',
      ports: expect.arrayContaining([expect.objectContaining({ port: Number(port) })]),
    });
  });

  test('may reach the ops ports of the gateway, also where other pods may not', async () => {
    const { objects, template: pod } = await scalerOf(
      {},
      { networkPolicy: { opsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }] } },
    );
    const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'weir');
    const { ingress } = (policy?.spec ?? expect.fail('a policy')) as { readonly ingress: readonly IngressRule[] };
    // The labels of peers that may reach this one port alone.
    const peers = ingress.flatMap(({ ports, from = [] }) =>
      JSON.stringify(ports) === '[{"port":"ops"}]' ? from.map(({ podSelector }) => podSelector?.matchLabels) : [],
    );
    expect(peers).toHaveLength(1);
    expect(pod.metadata.labels).toMatchObject(peers[0] ?? { none: 'expected' });
  });

  test('is let into a namespace for the most restricted', async () => {
    const namespace = await makeNamespace(connection);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await kubeRequest(connection, 'PATCH', `/api/v1/namespaces/${namespace}`, {
      ...{ body: { metadata: { labels } }, contentType: 'application/merge-patch+json' },
    });
    const { spec } = (await scalerOf({ tls: { secretName: 'scaler-tls' } })).template;
    const made = (changes: object) =>
      kubeRequest(connection, 'POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
        body: { metadata: { name: 'scaler' }, spec: { ...spec, ...changes } },
      });
    expect(await made({})).toMatchObject({ status: 201 });
    expect(await made({ securityContext: {} })).toMatchObject({ status: 403 });
  });
});
