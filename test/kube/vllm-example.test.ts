import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, test } from 'vitest';
import { foreignCrdFolder, installCrds, makeNamespace } from './support/cluster.ts';
import { objectsIn, type Rendered, template } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';

const kubernetes = inject('kubernetes');
const folder = join(import.meta.dirname, '..', '..', 'examples', 'vllm');
type Labels = Readonly<Record<string, string>>;

interface Port {
  readonly name: string;
  readonly port: number;
  readonly targetPort?: string;
}

/** The fields by which the objects of the example find each other. */
interface Joined {
  readonly selector?: unknown;
  readonly ports?: readonly Port[];
  readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly ingress?: readonly {
    readonly ports: readonly { readonly port: string }[];
    readonly from: readonly Source[];
  }[];
  readonly endpoints?: readonly { readonly port: string }[];
  readonly service?: { readonly name: string; readonly port: string };
  readonly capacity?: { readonly maxConcurrentRequestsPerEndpoint: number };
  readonly contextLength?: number;
  readonly routes?: readonly { readonly backend: string; readonly upstreamModel: string }[];
  readonly rules?: readonly { readonly backendRefs: readonly { readonly name: string; readonly port: number }[] }[];
}

interface Source {
  readonly podSelector?: { readonly matchLabels: Labels };
}

interface PodSpec {
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly ports: readonly { readonly name: string }[];
  }[];
  readonly volumes: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[];
}

interface Shown {
  readonly name: string;
  readonly labels: Labels;
  readonly spec: Joined;
}

const objects = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => objectsIn(readFileSync(join(folder, file), 'utf8')));

const ofKind = (kind: string, from: readonly Rendered[] = objects): readonly Shown[] =>
  from
    .filter((object) => object.kind === kind)
    .map(({ metadata, spec }) => ({ name: metadata.name, labels: metadata.labels ?? {}, spec: spec as Joined }));

const named = (all: readonly Shown[], name: string): Joined | undefined => all.find((one) => one.name === name)?.spec;
const selects = (selector: Labels | undefined, labels: Labels): boolean =>
  Object.entries(selector ?? { none: 'none' }).every(([label, value]) => labels[label] === value);
const podsOf = (deployment: Joined): Labels => deployment.template?.metadata.labels ?? {};
const flag = (deployment: Joined | undefined, name: string): string | undefined =>
  deployment?.template?.spec.containers[0]?.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];

beforeAll(() => installCrds(kubernetes, foreignCrdFolder, ['httproutes.yaml', 'servicemonitors.yaml']));

test('the API server takes the whole folder at once', async () => {
  const namespace = await makeNamespace(kubernetes);
  const end = await kubectl(kubernetes, ['apply', '-n', namespace, '-f', folder]);
  expect(end).toMatchObject({ code: 0, stderr: '' });
  expect(end.stdout.trim().split('\n')).toHaveLength(objects.length);
});

test('the API server refuses the example with a field that its kind does not have', async () => {
  const namespace = await makeNamespace(kubernetes);
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  const ends = files.map(async (file) => {
    const text = readFileSync(join(folder, file), 'utf8').replace(/^spec:$/m, 'spec:\n  notAField: true');
    return (await kubectl(kubernetes, ['apply', '-n', namespace, '-f', '-'], text)).stderr;
  });
  for (const stderr of await Promise.all(ends)) expect(stderr).toContain('unknown field "spec.notAField"');
});

test('each Model leads to pods that serve its name, with the window and the capacity that it declares', () => {
  const [models, backends, services, deployments] = ['Model', 'Backend', 'Service', 'Deployment'].map((kind) =>
    ofKind(kind),
  ) as [readonly Shown[], readonly Shown[], readonly Shown[], readonly Shown[]];
  expect(models).toHaveLength(deployments.length);
  for (const model of models) {
    const route = model.spec.routes?.[0];
    const backend = named(backends, route?.backend ?? '');
    const service = named(services, backend?.service?.name ?? '');
    const port = service?.ports?.find(({ name }) => name === backend?.service?.port);
    const pods = deployments.filter(({ spec }) => selects(service?.selector as Labels, podsOf(spec)));
    expect(pods).toHaveLength(1);
    const engine = pods[0]?.spec;
    expect(engine?.template?.spec.containers[0]?.ports.map(({ name }) => name)).toContain(port?.targetPort);
    expect(flag(engine, 'model')).toBe(route?.upstreamModel);
    expect(flag(engine, 'max-model-len')).toBe(String(model.spec.contextLength));
    expect(flag(engine, 'max-num-seqs')).toBe(String(backend?.capacity?.maxConcurrentRequestsPerEndpoint));
  }
});

test('the monitor, the policy, the claims and the disruption budgets select what the example has', () => {
  const deployments = ofKind('Deployment');
  const services = ofKind('Service');
  const [monitor] = ofKind('ServiceMonitor');
  const [policy] = ofKind('NetworkPolicy');
  const monitored = monitor?.spec.selector as { readonly matchLabels: Labels } | undefined;
  expect(services.filter(({ labels }) => selects(monitored?.matchLabels, labels))).toEqual(services);
  for (const { spec } of services)
    expect(spec.ports?.map(({ name }) => name)).toContain(monitor?.spec.endpoints?.[0]?.port);
  expect(deployments.filter(({ spec }) => selects(policy?.spec.podSelector?.matchLabels, podsOf(spec)))).toEqual(
    deployments,
  );
  const ports = deployments.map(({ spec }) => spec.template?.spec.containers[0]?.ports[0]?.name);
  expect(new Set(ports)).toEqual(new Set(policy?.spec.ingress?.[0]?.ports.map(({ port }) => port)));
  const claims = deployments.flatMap(({ spec }) =>
    (spec.template?.spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []),
  );
  expect(claims).toEqual(ofKind('PersistentVolumeClaim').map(({ name }) => name));
  for (const { spec } of ofKind('PodDisruptionBudget')) {
    const { matchLabels } = spec.selector as { readonly matchLabels: Labels };
    expect(deployments.filter((one) => selects(matchLabels, podsOf(one.spec)))).toHaveLength(1);
  }
});

test('the route leads to the Service of the chart, and the policy lets the pods of the chart in', async () => {
  const chart = objectsIn(await template({}, { name: 'weir', namespace: 'models' }));
  const backend = ofKind('HTTPRoute')[0]?.spec.rules?.[0]?.backendRefs[0];
  const service = named(ofKind('Service', chart), backend?.name ?? '');
  expect(service?.ports?.map(({ port }) => port)).toEqual([backend?.port]);
  const [gateway] = ofKind('StatefulSet', chart);
  const from = ofKind('NetworkPolicy')[0]?.spec.ingress?.[0]?.from[0]?.podSelector?.matchLabels;
  expect(selects(from, gateway === undefined ? {} : podsOf(gateway.spec))).toBe(true);
});
