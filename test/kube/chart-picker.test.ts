import { describe, expect, inject, test } from 'vitest';
import { readPickerSettings } from '../../src/process/settings/read-settings.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn, type Rendered, template } from './support/helm.ts';
import type { PodTemplate } from './support/pod-shape.ts';
import { kubeRequest } from './support/request.ts';

const connection = inject('kubernetes');

const byKind = (objects: readonly Rendered[], kind: string): Rendered | undefined =>
  objects.find((object) => object.kind === kind);

describe('the picker of the chart', () => {
  const pickerOf = async (picker: object, values: object = {}) => {
    const objects = objectsIn(await template({ picker: { enabled: true, pool: 'qwen3-8b', ...picker }, ...values }));
    const named = objects.filter((object) => object.metadata.name.endsWith('-picker'));
    const deployment = byKind(named, 'Deployment')?.spec as { readonly template: PodTemplate } | undefined;
    if (deployment === undefined) throw new Error('there is no picker');
    const env = new Map(deployment.template.spec.containers[0]?.env?.map(({ name, value }) => [name, value]));
    return { objects, named, pod: deployment.template.spec, env };
  };

  test('is not there unless it is wanted', async () => {
    const names = objectsIn(await template({})).map(({ metadata }) => metadata.name);
    expect(names).toContain('weir-pods');
    expect(names.filter((name) => name.includes('picker'))).toEqual([]);
  });

  test('has an account of its own, which may only list and watch pools and pods', async () => {
    const { named, pod } = await pickerOf({});
    expect(named.map(({ kind }) => kind).toSorted()).toEqual([
      ...['Deployment', 'NetworkPolicy', 'Role', 'RoleBinding', 'Service', 'ServiceAccount'],
    ]);
    expect(byKind(named, 'Role')).toMatchObject({
      rules: [
        { apiGroups: ['inference.networking.k8s.io'], resources: ['inferencepools'], verbs: ['list', 'watch'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
      ],
    });
    expect(byKind(named, 'ServiceAccount')?.metadata.name).toBe(pod.serviceAccountName);
  });

  test('is given settings that `weir picker` understands', async () => {
    const { env } = await pickerOf({
      ...{ replicas: 3, tls: { secretName: 'picker-tls' }, firstTokenSeconds: 5, retryEndpoints: 2 },
    });
    expect(readPickerSettings(Object.fromEntries(env))).toMatchObject({
      WEIR_PICKER_POOL: { name: 'qwen3-8b' },
      ...{ WEIR_PICKER_HOST: '0.0.0.0', WEIR_PICKER_PORT: 9002, WEIR_PICKER_HEALTH_PORT: 9003, WEIR_OPS_PORT: 9090 },
      ...{ WEIR_REPLICAS: 3, WEIR_PICKER_FIRST_TOKEN_SECONDS: 5, WEIR_PICKER_RETRY_ENDPOINTS: 2 },
      WEIR_TLS_CERTIFICATE_FILE: '/etc/weir/tls/tls.crt',
    });
  });

  test('is let into a namespace for the most restricted', async () => {
    const namespace = await makeNamespace(connection);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await kubeRequest(connection, 'PATCH', `/api/v1/namespaces/${namespace}`, {
      ...{ body: { metadata: { labels } }, contentType: 'application/merge-patch+json' },
    });
    // The account is not there.
    const { serviceAccountName: _, ...pod } = (await pickerOf({ tls: { secretName: 'picker-tls' } })).pod;
    const made = (spec: object) =>
      kubeRequest(connection, 'POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
        body: { metadata: { name: 'picker' }, spec: { ...pod, ...spec } },
      });
    expect(await made({ automountServiceAccountToken: false })).toMatchObject({ status: 201 });
    expect(await made({ automountServiceAccountToken: false, securityContext: {} })).toMatchObject({ status: 403 });
  });
});
