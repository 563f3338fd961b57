import { beforeAll, describe, expect, inject, test } from 'vitest';
import {
  customResourceDefinition,
  customResources,
  openApiSchema,
} from '../../scripts/custom-resources/custom-resources.ts';
import { goodBackendSpec, goodModelSpec } from '../support/catalog-objects.ts';
import { makeNamespace } from './support/cluster.ts';
import {
  fullApiKeySpec,
  fullBackendSpec,
  fullCreditSpec,
  fullIdentitySpec,
  embeddingModelSpec,
  fullModelSpec,
  fullWorkspaceSpec,
  listBackendSpec,
  poolBackendSpec,
  rerankModelSpec,
  serviceBackendSpec,
} from './support/full-specs.ts';
import { kubectl, type KubectlEnd } from './support/kubectl.ts';
import { type KubeAnswer, kubeRequest } from './support/request.ts';
import { places } from './support/tricky-values.ts';

const fullSpecs = new Map<string, unknown>([
  ['Backend', { ...fullBackendSpec, ...listBackendSpec, ...poolBackendSpec, ...serviceBackendSpec }],
  ['Model', { ...embeddingModelSpec, ...rerankModelSpec, ...fullModelSpec }],
  ['Workspace', fullWorkspaceSpec],
  ['ApiKey', fullApiKeySpec],
  ['Credit', fullCreditSpec],
  ['Identity', fullIdentitySpec],
]);
const kubernetes = inject('kubernetes');

const namespace = await makeNamespace(kubernetes);

const object = (kind: string, name: string, spec: object): object => ({
  ...{ apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name }, spec },
});

const run = (...parameters: readonly string[]): Promise<KubectlEnd> =>
  kubectl(kubernetes, ['-n', namespace, ...parameters]);
const pathOf = (plural: string, name = ''): string =>
  `/apis/weir.dev/v1alpha1/namespaces/${namespace}/${plural}/${name}`;

/** Server-side apply, as `kubectl apply --server-side --field-manager MANAGER`. */
const applyAs = (
  manager: string,
  body: object & { readonly metadata?: unknown },
  force = false,
): Promise<KubeAnswer> => {
  const { kind, metadata } = body as { readonly kind: string; readonly metadata: { readonly name: string } };
  const path = `${pathOf(`${kind.toLowerCase()}s`, metadata.name)}?fieldManager=${manager}&force=${force}&fieldValidation=Strict`;
  return kubeRequest(kubernetes, 'PATCH', path, { body, contentType: 'application/apply-patch+yaml' });
};

const condition = (type: string, status: 'True' | 'False', message = ''): object => ({
  ...{ type, status, message, reason: 'Tested', observedGeneration: 1, lastTransitionTime: '2026-11-01T00:00:00Z' },
});

/** Writes a status as the leader does. */
async function setStatus(plural: string, name: string, status: object): Promise<KubeAnswer> {
  const body = { status };
  return kubeRequest(kubernetes, 'PATCH', `${pathOf(plural, name)}/status`, {
    body,
    contentType: 'application/merge-patch+json',
  });
}

describe.each(customResources)('the definition of $kind', (resource) => {
  test('arrives in the API server as the sources have it, through YAML and kubectl', async () => {
    const wanted = customResourceDefinition(resource) as {
      readonly metadata: { readonly name: string };
      readonly spec: object;
    };
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${wanted.metadata.name}`;
    const { body } = await kubeRequest(kubernetes, 'GET', path);
    expect(body).toMatchObject({ spec: wanted.spec });
    const { conditions } = (
      body as { status: { conditions: readonly { type: string; status: string; message: string }[] } }
    ).status;
    // A schema that is not structural is taken too, with a condition that says so.
    expect(conditions.filter(({ type }) => type === 'NonStructuralSchema')).toEqual([]);
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
  });

  test('explains every field to kubectl', async () => {
    const { stdout } = await run('explain', `${resource.plural}.spec`, '--recursive');
    const names = [...places(openApiSchema(resource.spec), fullSpecs.get(resource.kind), [])].map(([path]) =>
      path.at(-1),
    );
    const fields = new Set(names.filter((name) => typeof name === 'string'));
    expect(fields.size).toBeGreaterThan(2);
    for (const field of fields) expect(stdout).toMatch(new RegExp(`^\\s+${field}\\s+<`, 'm'));
  });
});

describe('defaults', () => {
  test('stand in the object from the moment it is made, except inside lists', async () => {
    await applyAs(
      'author',
      object('Backend', 'plain', { engine: 'vllm', endpoint: { host: 'a', port: 1 }, healthCheck: { path: '/' } }),
    );
    await applyAs('author', object('Model', 'plain', goodModelSpec));
    expect((await kubeRequest(kubernetes, 'GET', pathOf('backends', 'plain'))).body).toMatchObject({
      spec: { endpoint: { path: '/v1' }, tls: { mode: 'Disabled' }, healthCheck: { intervalSeconds: 5 } },
    });
    expect((await kubeRequest(kubernetes, 'GET', pathOf('models', 'plain'))).body).toMatchObject({
      spec: {
        inputModalities: ['text'],
        reasoning: { mode: 'None', efforts: [] },
        hedging: { mode: 'Auto' },
        // Argo CD compares a list as a whole.
        routes: goodModelSpec.routes,
      },
    });
  });
});

describe('server-side apply', () => {
  const routes = (...names: readonly string[]): object => ({
    ...{ apiVersion: 'weir.dev/v1alpha1', kind: 'Model', metadata: { name: 'shared' } },
    spec: { routes: names.map((backend) => ({ backend, upstreamModel: 'q' })) },
  });
  const routesNow = async (): Promise<readonly string[]> => {
    const { body } = await kubeRequest(kubernetes, 'GET', pathOf('models', 'shared'));
    return (body as { spec: { routes: readonly { backend: string }[] } }).spec.routes.map(({ backend }) => backend);
  };

  test('lets two managers own routes of their own in one Model', async () => {
    await applyAs(
      'catalog',
      object('Model', 'shared', { ...goodModelSpec, routes: [{ backend: 'vllm-a', upstreamModel: 'q' }] }),
    );
    expect(await applyAs('capacity', routes('vllm-b', 'vllm-c'))).toMatchObject({ status: 200 });
    expect(await routesNow()).toEqual(['vllm-a', 'vllm-b', 'vllm-c']);
    await applyAs('capacity', routes('vllm-c'));
    expect(await routesNow()).toEqual(['vllm-a', 'vllm-c']);
  });

  test('names who owns a field that another manager would change, and gives it away when forced', async () => {
    const dearer = { ...goodModelSpec, pricing: { ...goodModelSpec.pricing, prompt: '0.000001' } };
    await applyAs('author', object('Model', 'owned', goodModelSpec));
    expect(await applyAs('pricing', object('Model', 'owned', dearer))).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message: expect.stringMatching(/conflict with "author".*\.spec\.pricing\.prompt/s) as unknown,
      },
    });
    expect(await applyAs('pricing', object('Model', 'owned', dearer), true)).toMatchObject({
      body: { spec: { pricing: { prompt: '0.000001' } } },
    });
  });

  test('lets two managers own a condition each', async () => {
    await applyAs('author', object('Model', 'checked', goodModelSpec));
    const write = (manager: string, type: string): Promise<KubeAnswer> =>
      kubeRequest(kubernetes, 'PATCH', `${pathOf('models', 'checked')}/status?fieldManager=${manager}`, {
        body: { ...object('Model', 'checked', {}), spec: undefined, status: { conditions: [condition(type, 'True')] } },
        contentType: 'application/apply-patch+yaml',
      });
    expect(await write('weir', 'Accepted')).toMatchObject({ status: 200 });
    expect(await write('other', 'Audited')).toMatchObject({
      body: { status: { conditions: [{ type: 'Accepted' }, { type: 'Audited' }] } },
    });
  });
});

describe('the status', () => {
  test('is written beside the spec: neither changes the other, and only the spec counts as a new generation', async () => {
    await applyAs('author', object('Backend', 'apart', goodBackendSpec));
    const written = await setStatus('backends', 'apart', {
      observedGeneration: 1,
      conditions: [condition('Healthy', 'True')],
    });
    expect(written).toMatchObject({ status: 200, body: { metadata: { generation: 1 } } });
    const changed = {
      ...object('Backend', 'apart', { ...goodBackendSpec, engine: 'sglang' }),
      status: { observedGeneration: 9 },
    };
    expect(await applyAs('author', changed)).toMatchObject({
      body: { metadata: { generation: 2 }, spec: { engine: 'sglang' }, status: { observedGeneration: 1 } },
    });
  });

  test.each([
    ['a condition without a reason', { conditions: [{ ...condition('Healthy', 'True'), reason: '' }] }, 'reason'],
    [
      'a condition that says neither yes nor no',
      { conditions: [{ ...condition('Healthy', 'True'), status: 'Maybe' }] },
      'status',
    ],
    [
      'two conditions of one type',
      { conditions: [condition('Healthy', 'True'), condition('Healthy', 'False')] },
      'conditions[1]',
    ],
  ])('is refused with %s', async (_about, status, field) => {
    await applyAs('author', object('Backend', 'strict', goodBackendSpec));
    const { body } = await setStatus('backends', 'strict', status);
    expect(body).toMatchObject({ reason: 'Invalid', message: expect.stringContaining(field) as unknown });
  });
});

describe('kubectl get', () => {
  const columns = async (...parameters: readonly string[]): Promise<readonly (readonly string[])[]> =>
    (await run('get', ...parameters)).stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(0, -1));

  beforeAll(async () => {
    await applyAs('author', object('Model', 'shown', { ...goodModelSpec, id: 'shown/model' }));
    await applyAs('author', object('Backend', 'shown', { ...goodBackendSpec, engine: 'llamacpp' }));
    const message = 'spec.routes[1].backend: expected a Backend, there is none named "vllm-b"';
    await setStatus('models', 'shown', {
      conditions: [condition('Accepted', 'False', message), condition('Servable', 'True'), condition('Listed', 'True')],
      routes: { ready: 1, total: 2, summary: '1/2' },
      retireAt: '2027-01-31T00:00:00Z',
    });
    await setStatus('backends', 'shown', {
      conditions: [condition('Accepted', 'True'), condition('Programmed', 'True'), condition('Healthy', 'False')],
      endpoints: { total: 8, healthy: 7, summary: '7 of 8' },
    });
    await applyAs('author', object('Backend', 'listed', listBackendSpec));
    await applyAs('author', object('Backend', 'followed', serviceBackendSpec));
    await applyAs('author', object('Backend', 'pooled', poolBackendSpec));
    await applyAs(
      'author',
      object('Backend', 'numbered', { ...serviceBackendSpec, service: { name: 'vllm-b', port: 80 } }),
    );
  });

  test('shows of a model its id, whether it is listed, its routes, prices and context', async () => {
    expect(await columns('models', 'shown')).toEqual([
      ['NAME', 'ID', 'LISTED', 'ROUTES', 'PROMPT', 'COMPLETION', 'CONTEXT'],
      ['shown', 'shown/model', 'True', '1/2', '0.00000015', '0.0000006', '131072'],
    ]);
  });

  test('shows with -o wide why a model is not accepted, and when it leaves', async () => {
    const [, row = []] = await columns('mdl', 'shown', '-o', 'wide');
    expect(row.slice(7)).toEqual([
      ...['False', 'True', '2027-01-31T00:00:00Z'],
      'spec.routes[1].backend: expected a Backend, there is none named "vllm-b"',
    ]);
  });

  test('shows of a backend its engine, where it is, its endpoints, health and whether Envoy knows it', async () => {
    expect(await columns('be', 'shown')).toEqual([
      ['NAME', 'ENGINE', 'HOST', 'PORT', 'ENDPOINTS', 'HEALTHY', 'PROGRAMMED'],
      ['shown', 'llamacpp', 'vllm-a.models.svc', '8000', '7 of 8', 'False', 'True'],
    ]);
  });

  test.each([
    ['the first host of several', 'listed', 'vllm-a-0.models.svc', '8000'],
    ['a Service with the name of its port', 'followed', 'vllm-a', 'http'],
    ['a Service with the number of its port', 'numbered', 'vllm-b', '80'],
  ])('shows of a backend %s', async (_about, name, host, port) => {
    const [, row = []] = await columns('be', name);
    expect(row.slice(2, 4)).toEqual([host, port]);
  });

  test('shows of a backend an InferencePool without a port: the pool has its own', async () => {
    const [, row = []] = await columns('be', 'pooled');
    expect(row.slice(2)).toEqual(['vllm-qwen3-8b']);
  });

  test('lists both kinds by their category', async () => {
    const { stdout } = await run('get', 'weir', '-o', 'name');
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['backend.weir.dev/shown', 'model.weir.dev/shown']));
  });

  test.each([
    ['models', 'spec.id=shown/model'],
    ['models', 'spec.ownedBy=qwen,spec.id=shown/model'],
    ['backends', 'spec.engine=llamacpp'],
    ['backends', 'spec.endpoint.host=vllm-a.models.svc,spec.engine=llamacpp'],
    ['backends', 'spec.service.name=,spec.engine=llamacpp'],
    ['backends', 'spec.inferencePool.name=,spec.engine=llamacpp'],
  ])('filters %s by %s', async (plural, selector) => {
    const { stdout } = await run('get', plural, '--field-selector', selector, '-o', 'name');
    expect(stdout.trim().split('\n')).toEqual([`${plural.slice(0, -1)}.weir.dev/shown`]);
  });
});

test('a change of the id is refused however it comes', async () => {
  await applyAs('author', object('Model', 'fixed', goodModelSpec));
  const patch = [{ op: 'replace', path: '/spec/id', value: 'other/id' }];
  const { stderr } = await run('patch', 'model', 'fixed', '--type', 'json', '-p', JSON.stringify(patch));
  expect(stderr).toContain('spec.id: Invalid value: "other/id": cannot change; make a new Model with the new id');
});
