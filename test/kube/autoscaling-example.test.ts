import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, test } from 'vitest';
import { type BackendScale, scalePath } from '../../src/gateway/core/backend-scale.ts';
import { foreignCrdFolder, installCrds, makeNamespace } from './support/cluster.ts';
import { objectsIn, type Rendered, template } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';

const kubernetes = inject('kubernetes');
const folder = join(import.meta.dirname, '..', '..', 'examples', 'autoscaling');
type Labels = Readonly<Record<string, string>>;

interface Deployment {
  readonly replicas?: number;
  readonly template: {
    readonly metadata: { readonly labels: Labels };
    readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
  };
}

interface ScaledObject {
  readonly scaleTargetRef: { readonly name: string };
  readonly triggers: readonly { readonly type: string; readonly metadata: Labels }[];
}

const objects = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => objectsIn(readFileSync(join(folder, file), 'utf8')));

const only = (kind: string, from: readonly Rendered[] = objects): Rendered => {
  const [found, ...others] = from.filter((object) => object.kind === kind);
  return found !== undefined && others.length === 0 ? found : expect.fail(`one ${kind}`);
};

const triggerMetadata = (): Labels => (only('ScaledObject').spec as ScaledObject).triggers[0]?.metadata ?? {};

const triggerUrl = (): URL => new URL(`${triggerMetadata()['url']}`);

beforeAll(() => installCrds(kubernetes, foreignCrdFolder, ['scaledobjects.yaml']));

test('the API server takes the whole folder at once', async () => {
  const namespace = await makeNamespace(kubernetes);
  const end = await kubectl(kubernetes, ['apply', '-n', namespace, '-f', folder]);
  expect(end).toMatchObject({ code: 0, stderr: '' });
  expect(end.stdout.trim().split('\n')).toHaveLength(objects.length);
});

test('the API server refuses the ScaledObject with a field that its kind does not have', async () => {
  const namespace = await makeNamespace(kubernetes);
  const text = readFileSync(join(folder, 'scaled-object.yaml'), 'utf8').replace(/^spec:$/m, 'spec:\n  notAField: true');
  const { stderr } = await kubectl(kubernetes, ['apply', '-n', namespace, '-f', '-'], text);
  expect(stderr).toContain('unknown field "spec.notAField"');
});

test('the trigger reads a figure of the Backend, which has the pods that are scaled', () => {
  const figure: keyof BackendScale = 'needed_endpoints';
  expect(triggerMetadata()).toMatchObject({ valueLocation: figure, targetValue: '0.7' });
  const backend = only('Backend');
  expect(triggerUrl().pathname).toBe(`${scalePath}${backend.metadata.name}`);
  const { service } = backend.spec as { readonly service: { readonly name: string } };
  expect(service.name).toBe(only('Service').metadata.name);
  const deployment = only('Deployment');
  const { selector } = only('Service').spec as { readonly selector: Labels };
  expect((deployment.spec as Deployment).template.metadata.labels).toMatchObject(selector);
  expect((only('ScaledObject').spec as ScaledObject).scaleTargetRef).toEqual({ name: deployment.metadata.name });
  // A number of replicas would be set again with each `kubectl apply`.
  expect(deployment.spec).not.toHaveProperty('replicas');
});

test('the Model has an objective, and the engine the name, the window and the capacity that are declared', () => {
  const model = only('Model').spec as {
    readonly contextLength: number;
    readonly serviceLevel: { readonly firstTokenSeconds: number };
    readonly routes: readonly { readonly backend: string; readonly upstreamModel: string }[];
  };
  expect(model.serviceLevel.firstTokenSeconds).toBeGreaterThan(0);
  expect(model.routes).toEqual([{ backend: only('Backend').metadata.name, upstreamModel: 'Qwen/Qwen3-8B' }]);
  const { capacity } = only('Backend').spec as {
    readonly capacity: { readonly maxConcurrentRequestsPerEndpoint: number };
  };
  expect((only('Deployment').spec as Deployment).template.spec.containers[0]?.args).toEqual(
    expect.arrayContaining([
      `--model=${model.routes[0]?.upstreamModel}`,
      `--max-model-len=${model.contextLength}`,
      `--max-num-seqs=${capacity.maxConcurrentRequestsPerEndpoint}`,
    ]),
  );
});

test('the address of the trigger is that of the chart, as the README installs it', async () => {
  const chart = objectsIn(await template({}, { name: 'weir', namespace: 'models' }));
  const [service, namespace] = triggerUrl().hostname.split('.');
  expect(namespace).toBe('models');
  const { spec } =
    chart.find(({ kind, metadata }) => kind === 'Service' && metadata.name === service) ?? expect.fail('a Service');
  const ports = (spec as { readonly ports: readonly { readonly name: string; readonly port: number }[] }).ports;
  expect(ports.find(({ name }) => name === 'ops')?.port).toBe(Number(triggerUrl().port));
});
