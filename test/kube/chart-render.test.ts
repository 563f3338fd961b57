// @suite long
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { envoyArguments } from '../../src/control/envoy/config/bootstrap.ts';
import { readPortalSettings } from '../../src/process/settings/read-settings.ts';
import { foreignCrdFolder, installCrds, makeNamespace } from './support/cluster.ts';
import { chart, helm, objectsIn, type Rendered, template } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { kubeRequest } from './support/request.ts';
import { schemasOf } from './support/schemas.ts';
import { podOf } from './support/pod-shape.ts';

const connection = inject('kubernetes');

await installCrds(connection, foreignCrdFolder);
const schemas = await schemasOf(connection);

afterAll(() => schemas.remove());

const stores = {
  database: { existingSecret: { name: 'postgres', key: 'uri' } },
  valkey: { existingSecret: { name: 'valkey' } },
};
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** What operators set, one thing or one way of running it at a time. */
const matrix: Readonly<Record<string, object>> = {
  nothing: {},
  'many replicas': { replicas: 3, ...stores },
  'URLs in values, no volumes': {
    ...{ replicas: 2, persistence: { enabled: false } },
    ...{ database: { url: 'postgres://weir:p%40ss@db:5432/weir' }, valkey: { url: 'rediss://:secret@valkey:6379/0' } },
  },
  'no volumes and no stores': { persistence: { enabled: false } },
  'autoscaling by CPU': { autoscaling: { enabled: true }, ...stores },
  'autoscaling by requests': { autoscaling: { enabled: true, targetCpuPercent: 0, targetInFlight: 200 }, ...stores },
  'autoscaling by KEDA': {
    autoscaling: {
      ...{ enabled: true },
      keda: {
        enabled: true,
        prometheusUrl: 'http://prometheus:9090',
        targetInFlight: 200,
        targetTokensPerSecond: 4000,
      },
    },
    ...stores,
  },
  'a certificate': { edge: { tls: { secretName: 'edge-tls' } }, service: { type: 'LoadBalancer' } },
  'cert-manager': {
    edge: { tls: { certManager: { enabled: true, dnsNames: ['ai.example.com'], issuerRef: { name: 'letsencrypt' } } } },
  },
  'an Ingress': {
    edge: { trustedHops: 1 },
    ingress: {
      ...{ enabled: true, className: 'nginx', host: 'ai.example.com', tlsSecretName: 'ai-tls' },
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
    },
  },
  'an HTTPRoute': {
    edge: { trustedHops: 1 },
    httpRoute: {
      enabled: true,
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['ai.example.com'],
    },
  },
  'Envoy Gateway': {
    edge: { trustedHops: 1 },
    httpRoute: { enabled: true, parentRefs: [{ name: 'eg', namespace: 'gateways' }] },
    envoyGateway: { enabled: true },
  },
  'tokenizers on a volume': {
    tokenizers: { volume: { persistentVolumeClaim: { claimName: 'tokenizers', readOnly: true } } },
  },
  'tokenizers in ConfigMaps': {
    tokenizers: {
      configMaps: [
        { folder: 'qwen3-8b', configMap: 'tokenizer-qwen' },
        { folder: 'llama-3', configMap: 'tokenizer-llama' },
      ],
    },
  },
  'tokenizers from an init container': {
    tokenizers: {
      initContainer: { image: 'busybox:1.37', command: ['wget'], args: ['-P', '/tokenizers', 'http://files/x'] },
    },
  },
  'everything about pods': {
    ...{ replicas: 2, ...stores, imagePullSecrets: [{ name: 'registry' }], priorityClassName: 'gateway' },
    ...{ image: { repository: 'registry.example.com/weir', tag: '1.2.3', digest }, envoy: { image: { digest } } },
    ...{ nodeSelector: { pool: 'gateway' }, tolerations: [{ key: 'gateway', operator: 'Exists' }] },
    affinity: { nodeAffinity: {} },
    podAnnotations: { 'example.com/team': 'inference' },
    podLabels: { team: 'inference' },
    podDisruptionBudget: { maxUnavailable: '25%' },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
    ],
    extraEnv: [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/weir/keys/ca.crt' },
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
      { name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } } },
    ],
    extraVolumes: [{ name: 'keys', secret: { secretName: 'search-keys' } }],
    extraVolumeMounts: [{ name: 'keys', mountPath: '/etc/weir/keys', readOnly: true }],
  },
  'a cloud': {
    edge: { listenAddress: '::' },
    service: {
      ...{ type: 'LoadBalancer', port: 8443, externalTrafficPolicy: 'Local', loadBalancerClass: 'example.com/nlb' },
      ...{ loadBalancerSourceRanges: ['192.0.2.0/24'], annotations: { 'example.com/idle-timeout': '3600' } },
    },
    serviceAccount: { name: 'weir-identity', annotations: { 'example.com/role': 'weir' } },
    persistence: { size: '20Gi', storageClassName: 'fast', annotations: { 'example.com/backup': 'daily' } },
    envoy: { caBundle: { configMap: 'corporate-ca' } },
  },
  'operators who bring their own': {
    ...{ serviceAccount: { create: false, name: 'mine' }, rbac: { create: false }, crds: { install: false } },
    ...{ networkPolicy: { enabled: false }, podDisruptionBudget: { enabled: false } },
  },
  OpenShift: { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
  'defaults that are taken away': {
    resources: { limits: { memory: null } },
    podSecurityContext: { seccompProfile: null },
    persistence: { enabled: false },
  },
  'web search by an instance of one’s own': {
    webSearch: { provider: 'searxng', url: 'http://searxng.search.svc:8080', price: '0.001' },
  },
  'web search by a vendor, on many pods': {
    ...{ replicas: 2, ...stores },
    webSearch: { provider: 'brave', existingSecret: { name: 'brave' }, sealSecret: { name: 'seal' } },
  },
  events: { events: { url: 'https://x.example.com/e', types: ['dev.weir.credit'], existingSecret: { name: 'e' } } },
  webhooks: { webhook: { url: 'https://hooks.example.com/weir', existingSecret: { name: 'hooks' } } },
  'the responses surface': { responses: { enabled: true } },
  identities: { identities: { enabled: true, trustedHeader: 'x-jwt-payload' }, edge: { trustedHops: 1 } },
  'further paths and headers': { furtherPaths: { enabled: true, balance: true }, costHeaders: { enabled: true } },
  'the responses surface, on many pods': {
    ...{ replicas: 2, ...stores },
    ...{ responses: { enabled: true }, webSearch: { sealSecret: { name: 'seal' } } },
  },
  'watched and fenced': {
    metrics: { serviceMonitor: { enabled: true, labels: { release: 'prometheus' }, interval: '15s' } },
    networkPolicy: {
      edgeFrom: [{ namespaceSelector: { matchLabels: { weir: 'caller' } } }],
      opsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    },
    rbac: { secretNames: ['vllm-key'], inferencePools: true },
  },
  'alerts, and dashboards for a sidecar': {
    metrics: { rules: { enabled: true, labels: { release: 'prometheus' } }, dashboards: { enabled: true } },
  },
  'alerts of one’s own, and the portal watched': {
    metrics: {
      serviceMonitor: { enabled: true, portalTokenSecret: { name: 'metrics', key: 'bearer' } },
      rules: {
        ...{ enabled: true, runbookBaseUrl: 'https://wiki.example.com/weir' },
        alerts: {
          WeirDiskFilling: { severity: 'page', threshold: 0.2, labels: { team: 'infra' } },
          WeirLogLost: { enabled: false },
        },
      },
    },
    portal: { enabled: true },
  },
  'the portal beside the embedded store': {
    portal: {
      ...{ enabled: true, publicUrl: 'https://ai.example.com/v1', trustedHops: 1 },
      ingress: { enabled: true, className: 'nginx', host: 'portal.example.com', tlsSecretName: 'portal-tls' },
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      oidc: { issuer: 'https://accounts.example.com', clientId: 'weir', clientSecret: { name: 'oidc' } },
    },
  },
  'the portal apart, with a token of one’s own': {
    ...{ replicas: 2, ...stores },
    portal: {
      ...{ enabled: true, tokenSecret: { name: 'admin', key: 'secret' } },
      httpRoute: { enabled: true, parentRefs: [{ name: 'internal' }], hostnames: ['portal.example.com'] },
    },
  },
  'a picker': { picker: { enabled: true, pool: 'qwen3-8b' } },
  'several pickers with TLS, watched and fenced': {
    picker: {
      ...{ enabled: true, pool: 'qwen3-8b', replicas: 2, tls: { secretName: 'picker-tls' } },
      ...{ firstTokenSeconds: 5, retryEndpoints: 2, service: { port: 443, annotations: { 'example.com/a': 'b' } } },
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'gateways' } } }],
    },
    metrics: { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  },
  'a picker under an account of one’s own': {
    ...{ serviceAccount: { create: false, name: 'mine' }, rbac: { create: false } },
    picker: { enabled: true, pool: 'qwen3-8b' },
  },
  'the demo': { demo: { enabled: true } },
  'part of another chart': { global: { imageRegistry: 'ignored' } },
};

test('helm lint finds nothing', async () => {
  const { code, stdout, stderr } = await helm(['lint', '--strict', chart]);
  expect({ code, said: stdout + stderr }).toMatchObject({ code: 0 });
});

describe.each(Object.entries(matrix))('with %s', (_, values) => {
  test('every object is what its schema says, and the API server takes it', async () => {
    const namespace = await makeNamespace(connection);
    const manifest = await template(values, { namespace });
    expect(await schemas.check(manifest)).toBe('');
    const flags = ['--server-side', '--dry-run=server', '--validate=strict', '--force-conflicts', '-f', '-'];
    const { code, stderr } = await kubectl(connection, ['apply', '-n', namespace, ...flags], manifest);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

test('alerts have what an operator has changed, and else what the file of rules has', async () => {
  interface Rules {
    readonly groups: readonly { readonly name: string; readonly rules: readonly { readonly alert?: string }[] }[];
  }
  const rulesOf = async (rules: object): Promise<Rules['groups']> => {
    const objects = objectsIn(await template({ metrics: { rules: { enabled: true, ...rules } } }));
    const { spec } = objects.find(({ kind }) => kind === 'PrometheusRule') ?? {};
    return (spec as Rules).groups;
  };
  const plain = parse(readFileSync(join(chart, 'files/monitoring/rules.yaml'), 'utf8')) as Rules;
  expect(await rulesOf({})).toEqual(plain.groups);
  const [, changed] = await rulesOf({
    runbookBaseUrl: 'https://wiki.example.com/weir',
    alerts: {
      WeirDiskFilling: { severity: 'page', threshold: 0.2, for: '1h', labels: { team: 'infra' } },
      WeirLogLost: { enabled: false },
    },
  });
  expect(changed?.rules).toHaveLength((plain.groups[1]?.rules.length ?? 0) - 1);
  expect(changed?.rules.find(({ alert }) => alert === 'WeirDiskFilling')).toMatchObject({
    ...{ expr: expect.stringMatching(/ < 0\.2$/), for: '1h', labels: { severity: 'page', team: 'infra' } },
    annotations: { runbook_url: 'https://wiki.example.com/weir#weirdiskfilling' },
  });
});

test.each([
  ['the admin token that the chart makes', {}, {}, { name: 'weir-portal', key: 'token' }],
  ['an admin token of one’s own', { name: 'admin', key: 'secret' }, {}, { name: 'admin', key: 'secret' }],
  ['a service account', { name: 'admin', key: 'secret' }, { name: 'metrics' }, { name: 'metrics', key: 'token' }],
  ['a service account under another key', {}, { name: 'metrics', key: 'bearer' }, { name: 'metrics', key: 'bearer' }],
])('the portal is scraped with the token of %s', async (_, tokenSecret, portalTokenSecret, credentials) => {
  const values = {
    portal: { enabled: true, tokenSecret },
    metrics: { serviceMonitor: { enabled: true, portalTokenSecret } },
  };
  const monitor = objectsIn(await template(values)).find(
    ({ kind, metadata }) => kind === 'ServiceMonitor' && metadata.name === 'weir-portal',
  );
  expect(monitor?.spec).toMatchObject({ endpoints: [{ path: '/metrics', authorization: { credentials } }] });
});

test('kubeconform would say so if a field were wrong', async () => {
  const manifest = (await template({})).replace('serviceAccountName:', 'serviceAccountNam:');
  expect(await schemas.check(manifest)).toContain('serviceAccountNam');
});

/** Values that make no sense, and what is said of them. */
const refused: readonly (readonly [object, string])[] = [
  [
    { metrics: { rules: { enabled: true, alerts: { WeirNoRoutes: {} } } } },
    'metrics.rules.alerts: there is no alert "WeirNoRoutes"; expected one of WeirErrorBudgetBurnFast,',
  ],
  [
    { metrics: { rules: { enabled: true, alerts: { WeirNoRoute: { threshold: 2 } } } } },
    'metrics.rules.alerts.WeirNoRoute.threshold: this alert has no threshold',
  ],
  [
    { replicas: 2 },
    'replicas: more than one pod needs its accounts and limits in one place; set database.url or database.existingSecret.name (PostgreSQL) and valkey.url or valkey.existingSecret.name (Valkey), or leave it at 1.',
  ],
  [{ replicas: 2, database: stores.database }, 'set valkey.url or valkey.existingSecret.name (Valkey), or leave it'],
  [
    { replicas: 2, valkey: stores.valkey },
    'set database.url or database.existingSecret.name (PostgreSQL), or leave it',
  ],
  [{ autoscaling: { enabled: true } }, 'autoscaling.maxReplicas: more than one pod needs its accounts'],
  [{ autoscaling: { enabled: true, minReplicas: 11 }, ...stores }, 'autoscaling.minReplicas: it must not be above'],
  [
    { autoscaling: { enabled: true, targetCpuPercent: 0 }, ...stores },
    'autoscaling: set targetCpuPercent or targetInFlight',
  ],
  [
    { database: { url: 'postgres://x', existingSecret: { name: 'y' } } },
    'database: set url or existingSecret.name, not both',
  ],
  [{ valkey: { url: 'redis://x', existingSecret: { name: 'y' } } }, 'valkey: set url or existingSecret.name, not both'],
  [
    { edge: { tls: { secretName: 'x', certManager: { enabled: true, dnsNames: ['x'], issuerRef: { name: 'x' } } } } },
    'edge.tls: set secretName or certManager.enabled, not both',
  ],
  [
    { edge: { tls: { certManager: { enabled: true, dnsNames: ['x'] } } } },
    'edge.tls.certManager.issuerRef.name: expected',
  ],
  [
    { edge: { tls: { certManager: { enabled: true, issuerRef: { name: 'x' } } } } },
    'edge.tls.certManager.dnsNames: expected',
  ],
  [{ webSearch: { provider: 'searxng' } }, 'webSearch.url: expected the address of the SearXNG instance'],
  [
    { webSearch: { provider: 'brave' } },
    'webSearch.existingSecret.name: expected the Secret that holds the key of brave',
  ],
  [{ webSearch: { provider: 'bing' } }, 'webSearch'],
  [
    { webSearch: { provider: 'searxng', url: 'http://searxng' }, ...stores },
    'webSearch.sealSecret.name: pods that share accounts must share the keys',
  ],
  [
    { responses: { enabled: true }, ...stores },
    'webSearch.sealSecret.name: responses.enabled, with pods that share accounts, needs the keys',
  ],
  [{ webhook: { url: 'https://hooks.example.com' } }, 'webhook.existingSecret.name: expected the Secret'],
  [{ events: { url: 'https://hooks.example.com' } }, 'events.existingSecret.name: expected the Secret'],
  [{ ingress: { enabled: true } }, 'ingress.host: expected the name that callers use'],
  [{ httpRoute: { enabled: true } }, 'httpRoute.parentRefs: expected at least one Gateway'],
  [
    { ingress: { enabled: true, host: 'x' }, edge: { tls: { secretName: 'x' } } },
    'edge.tls: an Ingress or HTTPRoute ends TLS',
  ],
  [
    { tokenizers: { volume: { emptyDir: {} }, configMaps: [{ folder: 'x', configMap: 'y' }] } },
    'tokenizers: set one of volume, configMaps and initContainer',
  ],
  [{ portal: { enabled: true, ingress: { enabled: true } } }, 'portal.ingress.host: expected the name that people use'],
  [
    { portal: { enabled: true, httpRoute: { enabled: true } } },
    'portal.httpRoute.parentRefs: expected at least one Gateway',
  ],
  [
    { portal: { enabled: true, oidc: { issuer: 'https://a.example.com' }, url: 'https://b.example.com' } },
    'portal.oidc.clientId: expected the name that the provider knows the portal by',
  ],
  [
    { portal: { enabled: true, oidc: { issuer: 'https://a.example.com', clientId: 'weir' } } },
    'portal.url: expected where browsers reach the portal',
  ],
  [{ portal: { oidc: { scopes: 'profile' } } }, "at '/portal/oidc/scopes': 'profile' does not match pattern"],
  [
    { portal: { ingress: { enabled: true, host: 'x' } } },
    'portal: its Ingress or HTTPRoute leads to nothing; set portal.enabled',
  ],
  [
    {
      ingress: { enabled: true, host: 'ai.example.com' },
      portal: { enabled: true, ingress: { enabled: true, host: 'ai.example.com' } },
    },
    'portal.ingress.host: expected another name than ingress.host',
  ],
  [{ picker: { enabled: true } }, 'picker.pool: expected the name of an InferencePool in the namespace of the release'],
  [{ picker: { enabled: true, pool: 'models/qwen' } }, "at '/picker/pool': 'models/qwen' does not match pattern"],
  [{ envoyGateway: { enabled: true } }, 'envoyGateway: its policy is for the HTTPRoute; set httpRoute.enabled'],
  [{ tokenizers: { initContainer: { args: ['x'] } } }, 'tokenizers.initContainer.image: expected an image'],
  [{ extraEnv: [{ name: 'WEIR_RUN', value: '/x' }] }, 'extraEnv: WEIR_RUN is set by the chart'],
  // What the schema says.
  [{ replica: 2 }, "additional properties 'replica' not allowed"],
  [{ edge: { tls: { secret: 'x' } } }, "additional properties 'secret' not allowed"],
  [{ replicas: 'two' }, "at '/replicas': got string, want integer"],
  [{ replicas: -1 }, "at '/replicas': minimum: got -1, want 0"],
  [{ image: { digest: 'latest' } }, "at '/image/digest': 'latest' does not match pattern"],
  [{ database: { url: 'mysql://x' } }, "at '/database/url': 'mysql://x' does not match pattern"],
  [{ service: { type: 'External' } }, "at '/service/type': value must be one of"],
  [{ persistence: { size: 'large' } }, "at '/persistence/size': 'large' does not match pattern"],
  [{ drain: { longestStreamSeconds: 1e6 } }, "at '/drain/longestStreamSeconds': maximum"],
  [{ podDisruptionBudget: { maxUnavailable: 0 } }, "at '/podDisruptionBudget/maxUnavailable': minimum"],
  [{ settings: { logLevel: 'loud' } }, "at '/settings/logLevel': value must be one of"],
  [{ tokenizers: { configMaps: [{ folder: '../x', configMap: 'y' }] } }, 'does not match pattern'],
  [{ tokenizers: { initContainer: { image: 'x', securityContext: {} } } }, "additional properties 'securityContext'"],
  // Parts of Kubernetes objects, and maps of texts.
  [{ resources: { limit: { cpu: 1 } } }, "at '/resources': additional properties 'limit' not allowed"],
  [
    { envoy: { resources: { limits: { cpu: [1] } } } },
    "at '/envoy/resources/limits/cpu': got array, want null or number or string",
  ],
  [{ affinity: { nodeAffinity: 'gpu' } }, "at '/affinity/nodeAffinity': got string, want null or object"],
  [{ extraEnv: [{ name: 'A', valueForm: {} }] }, "at '/extraEnv/0': additional properties 'valueForm' not allowed"],
  [{ extraVolumes: [{ name: 'a', secret: { name: 'b' } }] }, "additional properties 'name' not allowed"],
  [{ extraVolumeMounts: [{ name: 'a' }] }, "at '/extraVolumeMounts/0': missing property 'mountPath'"],
  [{ tolerations: [{ keys: 'gpu' }] }, "additional properties 'keys' not allowed"],
  [{ affinity: { nodeAfinity: {} } }, "additional properties 'nodeAfinity' not allowed"],
  [{ podSecurityContext: { runAsuser: 1 } }, "additional properties 'runAsuser' not allowed"],
  [{ tokenizers: { volume: { name: 'a', emptyDir: {} } } }, "additional properties 'name' not allowed"],
  [{ networkPolicy: { opsFrom: [{ podSelectr: {} }] } }, "additional properties 'podSelectr' not allowed"],
  [{ httpRoute: { parentRefs: [{ nam: 'public' }] } }, "additional properties 'nam' not allowed"],
  [{ autoscaling: { behavior: { scaledown: {} } } }, "additional properties 'scaledown' not allowed"],
  [{ service: { annotations: { 'example.com/idle': 60 } } }, 'got number, want string'],
];

test.each(refused)('%j is refused', async (values, message) => {
  await expect(template(values)).rejects.toThrow(message);
});

test('a name that is not there is refused with those that are', async () => {
  await expect(template({ resources: { limit: { cpu: 1 } } })).rejects.toThrow(
    "value must be one of 'claims', 'limits', 'requests'",
  );
  await expect(template({ service: { ports: 1 } })).rejects.toThrow(
    /value must be one of 'type', 'port', 'annotations'/,
  );
});

test('a default that is not there may be taken away, too', async () => {
  const values = {
    resources: { limits: { cpu: null } },
    podSecurityContext: { supplementalGroups: null, seLinuxOptions: null },
    affinity: { nodeAffinity: null },
  };
  await expect(template(values)).resolves.toContain('kind: StatefulSet');
});

test('only the pods of the gateway may reach the ext_proc port for another Envoy', async () => {
  const peersFor = async (envoyGateway: object): Promise<unknown> => {
    const values = { httpRoute: { enabled: true, parentRefs: [{ name: 'eg' }] }, envoyGateway };
    const policy = objectsIn(await template(values)).find(({ kind }) => kind === 'NetworkPolicy');
    const { ingress } = (policy?.spec ?? expect.fail('a policy')) as {
      readonly ingress: readonly { readonly ports: readonly object[]; readonly from?: readonly object[] }[];
    };
    return ingress.filter(({ ports }) => JSON.stringify(ports) === '[{"port":"ext-proc"}]').map(({ from }) => from);
  };
  const usual = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'envoy-gateway-system' } },
    podSelector: { matchLabels: { 'app.kubernetes.io/managed-by': 'envoy-gateway' } },
  };
  expect(await peersFor({ enabled: true })).toEqual([[usual]]);
  const own = { podSelector: { matchLabels: { app: 'gateway' } } };
  expect(await peersFor({ enabled: true, from: [own] })).toEqual([[own]]);
  expect(await peersFor({ enabled: false })).toEqual([]);
});

test('no object of the schema takes whatever it is given, but the values of other charts', () => {
  const open: string[] = [];
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { type, additionalProperties: others = true, ...inner } = schema as Readonly<Record<string, unknown>>;
    if ([type].flat().includes('object') && others === true) open.push(path);
    for (const [name, value] of Object.entries(inner)) if (name !== 'default') look(value, `${path}/${name}`);
  };
  look(JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')), '');
  // Fields of the API server's own, which a volume claim of a template may carry and no author writes.
  expect(open).toEqual([
    ...['global', 'tags', 'exports'].map((name) => `/properties/${name}`),
    '/definitions/FieldsV1',
  ]);
});

const byKind = (objects: readonly Rendered[], kind: string): Rendered | undefined =>
  objects.find((object) => object.kind === kind);

describe('the pod', () => {
  test('is let into a namespace for the most restricted', async () => {
    const namespace = await makeNamespace(connection);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await kubeRequest(connection, 'PATCH', `/api/v1/namespaces/${namespace}`, {
      ...{ body: { metadata: { labels } }, contentType: 'application/merge-patch+json' },
    });
    const everything = { ...matrix['everything about pods'], edge: { tls: { secretName: 'edge-tls' } } };
    for (const values of [{ persistence: { enabled: false } }, { ...everything, persistence: { enabled: false } }]) {
      const { spec, metadata } = podOf(objectsIn(await template(values)));
      // Whose class and account are others' business.
      const { priorityClassName: _, ...pod } = spec;
      const body = { metadata: { ...metadata, name: 'weir' }, spec: pod };
      const made = (body: unknown) =>
        kubeRequest(connection, 'POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, { body });
      expect(await made(body)).toMatchObject({ status: 201 });
      const loose = { ...body, spec: { ...pod, securityContext: {} } };
      expect(await made(loose)).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('restricted') },
      });
    }
  });

  test('gives a token of the API server to the service alone', async () => {
    const { spec } = podOf(objectsIn(await template({})));
    expect(spec.automountServiceAccountToken).toBe(false);
    const holders = [...spec.initContainers, ...spec.containers]
      .filter(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === 'api-access'))
      .map(({ name }) => name);
    expect(holders).toEqual(['service']);
  });

  test('starts Envoy as `weir start` does', async () => {
    const { spec } = podOf(objectsIn(await template({ envoy: { concurrency: 3, logLevel: 'warning' } })));
    const args = spec.initContainers.find(({ name }) => name === 'envoy')?.args ?? [];
    const usual = envoyArguments({ bootstrapFile: '/run/weir/bootstrap.json', concurrency: 3 });
    expect(args.map((arg) => (arg === 'warning' ? 'warn' : arg))).toEqual(usual);
  });

  test('tells how requests are traced to the service and to whoever configures Envoy, and nothing else of its environment', async () => {
    const variables = [
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
      { name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } } },
    ];
    const other = { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/weir/keys/ca.crt' };
    const { spec } = podOf(objectsIn(await template({ extraEnv: [other, ...variables] })));
    const given = (container: string) =>
      [...spec.initContainers, ...spec.containers]
        .find(({ name }) => name === container)
        ?.env?.filter(({ name }) => /^(OTEL_|NODE_EXTRA_CA_CERTS)/.test(name));
    expect(given('service')).toEqual([other, ...variables]);
    expect(given('bootstrap')).toEqual(variables);
    expect(given('envoy') ?? []).toEqual([]);
  });

  test('ends a service or an Envoy that has not answered for about as long as `weir start` waits', async () => {
    const { spec } = podOf(objectsIn(await template({})));
    const watched = [...spec.initContainers, ...spec.containers].filter(({ name }) => name !== 'bootstrap');
    expect(watched.map(({ name }) => name)).toEqual(['envoy', 'service']);
    for (const { livenessProbe: probe } of watched) {
      expect(probe?.httpGet.path).toBe('/livez');
      expect((probe?.periodSeconds ?? 0) * (probe?.failureThreshold ?? 0)).toBe(20);
      expect(probe?.timeoutSeconds).toBe(5);
    }
  });

  test('has time for the longest stream, for load balancers and for the service', async () => {
    const { spec } = podOf(objectsIn(await template({ drain: { holdSeconds: 20, longestStreamSeconds: 1800 } })));
    expect(spec.terminationGracePeriodSeconds).toBe(20 + 1800 + 30 + 15);
    const command = spec.containers[0]?.lifecycle?.preStop?.exec?.command ?? [];
    expect(command.slice(-2)).toEqual(['--hold=20', '--seconds=1800']);
  });

  test('starts anew when a URL in the values changes', async () => {
    const checksum = async (url: string): Promise<unknown> =>
      podOf(objectsIn(await template({ database: { url } }))).metadata.annotations['checksum/urls'];
    expect(await checksum('postgres://a')).not.toBe(await checksum('postgres://b'));
  });
});

describe('accounts in Git', () => {
  test('give the service a role in each namespace, and no verb that lists Secrets there', async () => {
    const manifest = await template({ accounts: { enabled: true, namespaces: ['team-a'] } });
    const documents = manifest.split(/^---$/m);
    const roles = documents.filter((text) => /^kind: Role$/m.test(text) && /^ {2}namespace: team-a$/m.test(text));
    expect(roles).toHaveLength(1);
    expect(roles[0]).toMatch(/resources: \[secrets\]\n {4}verbs: \[get, create, patch\]/);
    expect(manifest).toMatch(/WEIR_ACCOUNT_NAMESPACES, value: "team-a"/);
  });

  test('leave the role as it is unless they are wanted', async () => {
    const manifest = await template({});
    expect(manifest).not.toContain('[workspaces, apikeys, credits');
    expect(manifest).toMatch(/WEIR_ACCOUNT_NAMESPACES, value: "none"/);
  });
});

describe('the right to create TokenReviews', () => {
  test('is of the whole cluster, and nobody has it unless it is wanted', async () => {
    expect(await template({ accounts: { enabled: true } })).not.toContain('ClusterRole');
    const objects = objectsIn(await template({ rbac: { tokenReviews: true } }));
    const ofCluster = objects.filter(({ kind }) => kind.startsWith('ClusterRole'));
    expect(ofCluster).toMatchObject([
      { kind: 'ClusterRole', rules: [{ resources: ['tokenreviews'], verbs: ['create'] }] },
      { kind: 'ClusterRoleBinding', subjects: [{ kind: 'ServiceAccount', namespace: 'weir-system' }] },
    ]);
    expect(await template({ rbac: { create: false, tokenReviews: true } })).not.toContain('ClusterRole');
  });
});

describe('the portal', () => {
  const portalOf = async (values: object) => {
    const objects = objectsIn(await template({ portal: { enabled: true }, ...values }));
    const named = objects.filter((object) => object.metadata.name.endsWith('-portal'));
    return { objects, kinds: named.map((object) => object.kind), gateway: podOf(objects).spec };
  };

  test('is not there unless it is wanted', async () => {
    const manifest = await template({});
    expect(manifest).not.toContain('portal');
  });

  test('shares the pod that has the embedded store, and asks the service of that pod', async () => {
    const { kinds, gateway } = await portalOf({});
    expect(kinds).toEqual(['Secret', 'Service']);
    const portal = gateway.containers.find(({ name }) => name === 'portal');
    const told = new Map(portal?.env?.map(({ name, value }) => [name, value]));
    expect(told.get('WEIR_DATABASE_URL')).toBe('sqlite:/var/lib/weir/weir.db');
    expect(told.get('WEIR_SERVICES')).toBe('http://127.0.0.1:9090');
  });

  test('has pods of its own with PostgreSQL, asks every pod of the gateway, and is let to their ops port', async () => {
    const { kinds, objects, gateway } = await portalOf(stores);
    expect(kinds).toEqual(expect.arrayContaining(['Secret', 'Service', 'Deployment', 'NetworkPolicy']));
    expect(gateway.containers.map(({ name }) => name)).toEqual(['service']);
    const text = JSON.stringify(
      objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-portal')),
    );
    expect(text).toContain('-pods:9090');
    expect(text).toContain('"automountServiceAccountToken":false');
    const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && !metadata.name.endsWith('-portal'));
    expect(JSON.stringify(policy?.spec)).toContain('"app.kubernetes.io/component":"portal"');
  });

  test('signs in with OpenID Connect where the values say how, and reads the secret of a Secret', async () => {
    const oidc = {
      ...{ issuer: 'https://accounts.example.com', name: 'Example', clientId: 'weir', groupsClaim: 'roles' },
      ...{ clientSecret: { name: 'oidc', key: 'secret' }, admins: ['ada@example.com', 'group:platform'] },
    };
    const ingress = { enabled: true, host: 'portal.example.com', tlsSecretName: 'portal-tls' };
    const { gateway } = await portalOf({ portal: { enabled: true, oidc, ingress } });
    const portal = gateway.containers.find(({ name }) => name === 'portal');
    const told = Object.fromEntries(portal?.env?.map(({ name, value }) => [name, value]) ?? []);
    expect(told).toMatchObject({
      WEIR_ADMIN_URL: 'https://portal.example.com',
      WEIR_OIDC_ISSUER: 'https://accounts.example.com',
      WEIR_OIDC_NAME: 'Example',
      WEIR_OIDC_CLIENT_ID: 'weir',
      WEIR_OIDC_CLIENT_SECRET_FILE: '/etc/weir/portal-oidc/secret',
      WEIR_OIDC_SCOPES: 'openid profile email',
      WEIR_OIDC_ADMINS: 'ada@example.com,group:platform',
      WEIR_OIDC_GROUPS_CLAIM: 'roles',
    });
    // The portal itself takes what the chart says.
    expect(readPortalSettings(told)).toMatchObject({
      WEIR_OIDC_ADMINS: [
        { kind: 'email', value: 'ada@example.com' },
        { kind: 'group', value: 'platform' },
      ],
    });
    expect(gateway.volumes.find(({ name }) => name === 'portal-oidc')?.secret).toEqual({
      ...{ secretName: 'oidc', items: [{ key: 'secret', path: 'secret' }] },
    });
    const without = await portalOf({});
    expect(JSON.stringify(without.gateway)).not.toMatch(/OIDC|oidc|ADMIN_URL/);
  });

  test('is reached through nothing that leads to the edge', async () => {
    for (const values of [{}, stores]) {
      const { objects } = await portalOf({ ...values, ingress: { enabled: true, host: 'ai.example.com' } });
      const edge = objects.filter(
        ({ kind, metadata }) => ['Service', 'Ingress'].includes(kind) && !metadata.name.endsWith('-portal'),
      );
      expect(JSON.stringify(edge)).not.toMatch(/9091|"portal"/);
    }
  });
});

describe('the workload', () => {
  test.each([
    [{}, 'StatefulSet'],
    [{ persistence: { enabled: false } }, 'Deployment'],
    [{ replicas: 2, ...stores }, 'StatefulSet'],
    [{ replicas: 2, ...stores, persistence: { enabled: false } }, 'Deployment'],
  ])('with %j is a %s', async (values, kind) => {
    const objects = objectsIn(await template(values));
    expect(objects.filter((object) => object.apiVersion === 'apps/v1').map((object) => object.kind)).toEqual([kind]);
  });

  test('leaves the number of pods to the autoscaler, which finds it', async () => {
    for (const enabled of [true, false]) {
      const values = { autoscaling: { enabled: true }, ...stores, persistence: { enabled } };
      const objects = objectsIn(await template(values));
      const workload = objects.find((object) => object.apiVersion === 'apps/v1');
      expect(workload?.spec).not.toHaveProperty('replicas');
      expect(byKind(objects, 'HorizontalPodAutoscaler')?.spec).toMatchObject({
        scaleTargetRef: { kind: workload?.kind, name: workload?.metadata.name },
      });
    }
  });

  test('keeps accounts and commands in one place: `weir` inside the pod finds the service’s own', async () => {
    const variables = async (values: object) =>
      podOf(objectsIn(await template(values))).spec.containers[0]?.env?.filter(({ name }) => name.endsWith('_URL'));
    expect(await variables({})).toEqual([{ name: 'WEIR_DATABASE_URL', value: 'sqlite:/var/lib/weir/weir.db' }]);
    expect(await variables({ replicas: 2, ...stores })).toEqual([
      { name: 'WEIR_DATABASE_URL', valueFrom: { secretKeyRef: { name: 'postgres', key: 'uri' } } },
      { name: 'WEIR_VALKEY_URL', valueFrom: { secretKeyRef: { name: 'valkey', key: 'url' } } },
    ]);
  });

  test('knows who searches the web, with which key, and how many pods there are', async () => {
    const values = { ...matrix['web search by a vendor, on many pods'], replicas: 3 };
    const { spec } = podOf(objectsIn(await template(values)));
    const told = new Map(spec.containers[0]?.env?.map(({ name, value }) => [name, value]));
    expect(told.get('WEIR_REPLICAS')).toBe('3');
    expect(told.get('WEIR_WEB_SEARCH')).toBe('brave:/etc/weir/search/key');
    expect(told.get('WEIR_SEAL_KEY_FILE')).toBe('/etc/weir/seal/keys');
    const mounts = spec.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath);
    expect(mounts).toEqual(expect.arrayContaining(['/etc/weir/search', '/etc/weir/seal']));
  });

  test('knows the receiver of webhooks, and the file of their secret', async () => {
    const { spec } = podOf(objectsIn(await template(matrix.webhooks)));
    const told = new Map(spec.containers[0]?.env?.map(({ name, value }) => [name, value]));
    expect(told.get('WEIR_WEBHOOK_URL')).toBe('https://hooks.example.com/weir');
    expect(told.get('WEIR_WEBHOOK_SECRET_FILE')).toBe('/etc/weir/webhook/secret');
    const mounts = spec.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath);
    expect(mounts).toContain('/etc/weir/webhook');
  });

  test('knows the receiver of events, and the file of their secret', async () => {
    const { spec } = podOf(objectsIn(await template(matrix.events)));
    const told = new Map(spec.containers[0]?.env?.map(({ name, value }) => [name, value]));
    expect(told.get('WEIR_EVENTS_URL')).toBe('https://x.example.com/e');
    expect(told.get('WEIR_EVENTS_SECRET_FILE')).toBe('/etc/weir/events/secret');
    expect(told.get('WEIR_EVENTS_TYPES')).toBe('dev.weir.credit');
    expect(told.get('WEIR_EVENTS_MAX_WAITING')).toBe('5000000');
    expect(spec.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain('/etc/weir/events');
  });

  test('gets no variables of Services, nor does any other pod of the chart', async () => {
    const values = { ...stores, replicas: 2, portal: { enabled: true }, demo: { enabled: true } };
    const pods = objectsIn(await template(values)).flatMap(({ kind, metadata, spec }) => {
      const { template: pod } = (spec ?? {}) as { readonly template?: { readonly spec: object } };
      return pod === undefined ? [] : [{ name: `${kind} ${metadata.name}`, ...pod.spec }];
    });
    expect(pods.map(({ name }) => name)).toHaveLength(3);
    for (const pod of pods) expect(pod).toMatchObject({ enableServiceLinks: false });
  });

  test('names what one release has apart from another', async () => {
    const names = (objects: readonly Rendered[]): readonly string[] =>
      objects
        .filter(({ kind }) => kind !== 'CustomResourceDefinition')
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const everything = { ...stores, autoscaling: { enabled: true }, demo: { enabled: true } };
    const one = names(objectsIn(await template(everything, { name: 'one' })));
    const two = names(objectsIn(await template(everything, { name: 'two' })));
    expect(one.filter((name) => two.includes(name))).toEqual([]);
    const called = names(objectsIn(await template({ ...everything, fullnameOverride: 'edge' }, { name: 'one' })));
    expect(called.filter((name) => one.includes(name))).toEqual([]);
  });
});

/** A chart that has ours as a part, as Helm wants it. */
function umbrella(values: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-umbrella-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(chart, join(folder, 'charts', 'weir'), { recursive: true });
  const part = { name: 'weir', version: '>=0', condition: 'weir.enabled', tags: ['gateway'] };
  const head = { apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies: [part] };
  writeFileSync(join(folder, 'Chart.yaml'), JSON.stringify(head));
  writeFileSync(join(folder, 'values.yaml'), JSON.stringify(values));
  return folder;
}

test.each([
  ['its condition', { weir: { enabled: true } }],
  ['global values', { global: { imageRegistry: 'registry.example.com' }, weir: { enabled: true } }],
  ['tags', { tags: { gateway: true }, weir: { tags: { gateway: true } } }],
  ['exported values', { weir: { enabled: true, exports: { data: { a: 1 } } } }],
])('is a part of another chart, with %s', async (_, values) => {
  const { code, stdout, stderr } = await helm(['template', 'platform', umbrella(values)]);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: '' });
  expect(objectsIn(stdout).length).toBeGreaterThan(0);
});

test('is left out of another chart by its condition, and refuses a misspelt value there, too', async () => {
  const off = await helm(['template', 'platform', umbrella({ weir: { enabled: false } })]);
  expect(objectsIn(off.stdout)).toEqual([]);
  const { code, stderr } = await helm(['template', 'platform', umbrella({ weir: { enabled: true, replica: 2 } })]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("additional properties 'replica' not allowed");
});
