import { describe, expect, it, test } from 'vitest';
import { backend, configMap, goodBackendSpec, model, secret } from '../../../test/support/catalog-objects.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import type { Backend, CatalogObject, Snapshot } from '../../core/catalog.ts';
import { compile, keepObjects } from './compile.ts';

const tokens = secret('tokens', {
  stringData: { a: 'sk-a', pair: 'user:pass word' },
  data: { a: btoa('loses'), b: btoa('sk-b\n'), basic: btoa('user:secret\n') },
});
const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

function good(objects: readonly CatalogObject[], previous?: Snapshot): Snapshot {
  const { snapshot, problems } = compile(objects, { previous });
  expect(problems).toEqual([]);
  return snapshot;
}

/** The one backend, through the one model. */
function compiled(spec: Readonly<Record<string, unknown>>): Backend {
  const authorities = [secret('ca', { stringData: { pem: ca } }), configMap('ca', { pem: `${ca}of the company` })];
  const client = secret('client', { stringData: { 'tls.crt': selfSigned.certificate, 'tls.key': selfSigned.key } });
  const snapshot = good([tokens, ...authorities, client, backend('vllm-a', spec), model('m')]);
  return snapshot.models.get('qwen/qwen3-8b')!.routes[0]!.backend;
}

function routesOf(snapshot: Snapshot, id = 'qwen/qwen3-8b'): readonly string[] | undefined {
  return snapshot.models.get(id)?.routes.map((route) => route.backend.name);
}

const twoRoutes = [
  { backend: 'vllm-a', upstreamModel: 'q' },
  { backend: 'vllm-b', upstreamModel: 'q' },
];

test('compiles a model with everything it says, prices exact', () => {
  const object = model('m', {
    inputModalities: ['image', 'text'],
    reasoning: { mode: 'Optional', efforts: ['low', 'max', 'low'] },
    tokenizer: { path: 'qwen3-8b' },
    serviceLevel: { minAvailability: '0.99', firstTokenSeconds: 2 },
    hedging: { mode: 'Disabled' },
    routes: [
      {
        backend: 'vllm-a',
        upstreamModel: 'Qwen/Qwen3-8B',
        weight: 7,
        capabilities: { tools: false, parameters: ['stop'] },
      },
    ],
  });
  const snapshot = good([backend('vllm-a'), object]);
  expect(snapshot.models.get('qwen/qwen3-8b')).toEqual({
    id: 'qwen/qwen3-8b',
    aliases: [],
    ownedBy: 'qwen',
    added: 1_780_272_000,
    contextLength: 131_072,
    inputModalities: ['text', 'image'],
    prices: { prompt: 150_000n, completion: 600_000n, inputCacheRead: 30_000n },
    reasoning: { mode: 'Optional', efforts: ['low', 'max'] },
    tokenizer: { path: 'qwen3-8b' },
    hedging: 'Disabled',
    cacheSharing: 'Workspace',
    serviceLevel: { minAvailability: 0.99, windowSeconds: 900, firstTokenMs: 2_000 },
    routes: [
      {
        id: 'qwen/qwen3-8b@vllm-a',
        backend: expect.objectContaining({ name: 'vllm-a', engine: 'vllm', path: '/v1' }),
        upstreamModel: 'Qwen/Qwen3-8B',
        weight: 7,
        capabilities: { tools: false, parameters: ['stop'] },
      },
    ],
  });
});

test('fills in the documented defaults', () => {
  const snapshot = good([backend('vllm-a'), model('m', { pricing: { prompt: '0.000001', completion: '0.000002' } })]);
  expect(snapshot.models.get('qwen/qwen3-8b')).toMatchObject({
    inputModalities: ['text'],
    prices: { inputCacheRead: 1_000_000n },
    reasoning: { mode: 'None', efforts: [] },
    hedging: 'Auto',
    cacheSharing: 'Workspace',
    routes: [{ weight: 100, capabilities: {} }],
  });
});

describe('a backend', () => {
  const service = { name: 'vllm-a', port: 'http' };
  const several = [
    { host: 'Engine.Example.', port: 80 },
    { host: '::1', port: 8000 },
  ];

  test.each([
    ['one host', { endpoint: several[0] }, { kind: 'hosts', hosts: [{ host: 'engine.example', port: 80 }] }],
    [
      'several hosts',
      { endpoints: several },
      {
        kind: 'hosts',
        hosts: [
          { host: 'engine.example', port: 80 },
          { host: '::1', port: 8000 },
        ],
      },
    ],
    ['a named port of a Service', { service }, { kind: 'service', service: 'vllm-a', port: 'http' }],
    ['a numbered one', { service: { ...service, port: 80 } }, { kind: 'service', service: 'vllm-a', port: 80 }],
    ['an InferencePool', { inferencePool: { name: 'qwen' } }, { kind: 'inference-pool', pool: 'qwen' }],
  ])('has its endpoints from %s', (_about, spec, endpoints) => {
    expect(compiled({ endpoint: undefined, ...spec }).cluster.endpoints).toEqual(endpoints);
  });

  test('has the same cluster when only its endpoints change, in another version of the catalog', () => {
    const [one, other] = ['a', 'b'].map((host) =>
      good([backend('vllm-a', { endpoint: { host, port: 80 } }), model('m')]),
    );
    if (one === undefined || other === undefined) throw new Error('two catalogs');
    expect(one.clusters.map(({ name }) => name)).toEqual(other.clusters.map(({ name }) => name));
    expect(one.version).not.toBe(other.version);
  });

  test.each([
    [undefined, '/v1'],
    ['/v1/', '/v1'],
    ['/', ''],
    ['/compatible-mode/v1', '/compatible-mode/v1'],
  ])('brings the path %s to %j, wherever it stands', (path, expected) => {
    const given = path !== undefined && { path };
    expect(compiled({ endpoint: { host: 'a', port: 1, ...given } }).path).toBe(expected);
    for (const source of [{ endpoints: several }, { service }, { inferencePool: { name: 'qwen' } }])
      expect(compiled({ endpoint: undefined, ...source, ...given }).path).toBe(expected);
  });

  test.each([
    ['a Service', 'service', service, /^expected endpoint or endpoints: .*"vllm-a\.models\.svc"/],
    ['an InferencePool', 'inferencePool', { name: 'qwen' }, /^expected endpoint or endpoints: .*headless Service/],
  ])('cannot follow %s where there is no cluster, and says what to write instead', (_about, field, value, message) => {
    const objects = [backend('vllm-a', { endpoint: undefined, [field]: value }), backend('vllm-b'), model('m')];
    const { problems, backends } = compile(objects, { pods: 'refused' });
    expect(problems).toEqual([
      {
        where: 'Backend/vllm-a',
        field: `spec.${field}`,
        message: expect.stringMatching(message) as unknown,
      },
      { where: 'Model/m', field: 'spec.routes[0].backend', message: expect.any(String) as unknown },
    ]);
    expect([...backends.keys()]).toEqual(['vllm-b']);
  });

  test.each(['followed', 'refused'] as const)('has nothing of an account, and accepts it (pods: %s)', (pods) => {
    const value = { apiVersion: 'weir.dev/v1alpha1', kind: 'Workspace', metadata: { name: 'team' }, spec: {} };
    const account = { where: 'Workspace/team', value };
    const { problems, results } = compile([account], { pods });
    expect(problems).toEqual([]);
    expect(results.get(account)?.state).toBe('accepted');
  });

  test('reports a second account of one kind and name', () => {
    const account = (where: string, kind: string) => ({
      ...{ where, value: { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'team' }, spec: {} } },
    });
    const credit = {
      where: 'c',
      value: { ...account('c', 'Credit').value, spec: { workspace: 'team', usd: '5', note: 'order 8' } },
    };
    const { problems } = compile([account('a', 'Workspace'), account('b', 'Workspace'), credit]);
    const message =
      'expected a name of its own, "team" is already taken by a, which counts because its file name and line come first';
    expect(problems).toEqual([{ where: 'b', field: 'metadata.name', message }]);
  });

  test.each([
    ['a', 'Bearer sk-a'],
    ['b', 'Bearer sk-b'],
  ])('reads key %s of a Secret: stringData before data, without a final newline', (key, authorization) => {
    expect(compiled({ credentials: { secretRef: { name: 'tokens', key } } }).headers).toEqual([
      ['authorization', authorization],
    ]);
  });

  const tokenOf = (key: string) => ({ secretRef: { name: 'tokens', key } });

  test.each([
    ['Azure', { credentials: { ...tokenOf('a'), header: 'api-key' } }, [['api-key', 'sk-a']]],
    ['a gateway', { credentials: { ...tokenOf('a'), header: 'X-API-Key' } }, [['x-api-key', 'sk-a']]],
    ['a word of its own', { credentials: { ...tokenOf('a'), scheme: 'None' } }, [['authorization', 'sk-a']]],
    [
      'Bearer in another header',
      { credentials: { ...tokenOf('a'), header: 'X-Auth', scheme: 'Bearer' } },
      [['x-auth', 'Bearer sk-a']],
    ],
    [
      'Basic',
      { credentials: { ...tokenOf('basic'), scheme: 'Basic' } },
      [['authorization', `Basic ${btoa('user:secret')}`]],
    ],
    [
      'further headers beside it',
      {
        credentials: tokenOf('a'),
        headers: [
          { name: 'X-Org', value: 'team a' },
          { name: 'cf-secret', ...tokenOf('b') },
        ],
      },
      [
        ['authorization', 'Bearer sk-a'],
        ['x-org', 'team a'],
        ['cf-secret', 'sk-b'],
      ],
    ],
    ['headers alone', { headers: [{ name: 'x-org', value: 'a' }] }, [['x-org', 'a']]],
    ['nothing', {}, undefined],
  ])('writes the headers of %s', (_about, spec, headers) => {
    expect(compiled(spec).headers).toEqual(headers);
  });

  test('writes a query, encoded, and another Host header', () => {
    const query = [
      { name: 'api-version', value: '2024-10-21' },
      { name: 'q', value: 'a b&c=ü' },
      { name: 'key', ...tokenOf('a') },
    ];
    const { query: written, cluster } = compiled({ query, host: 'LLM.example.com:8443' });
    expect(written).toBe('?api-version=2024-10-21&q=a%20b%26c%3D%C3%BC&key=sk-a');
    expect(cluster.host).toBe('llm.example.com:8443');
  });

  test('reads limits of silence, defaults and bounds', () => {
    const requests = {
      defaults: { temperature: 0.6, top_k: 20, max_tokens: 4096, reasoning_effort: 'none' },
      bounds: { max_tokens: 8192, reasoning_effort: 'medium' },
    };
    expect(compiled({ timeouts: { firstOutputSeconds: 600 }, requests })).toMatchObject({
      timeouts: { firstOutputMs: 600_000, idleMs: undefined },
      defaults: { sampling: { temperature: 0.6, top_k: 20 }, maxOutputTokens: 4096, reasoning: { enabled: false } },
      bounds: { sampling: {}, maxOutputTokens: 8192, reasoning: { enabled: true, effort: 'medium' } },
    });
  });

  test('leads through a forward proxy, with its credentials', () => {
    const proxy = { host: 'Proxy.example.', port: 3128, credentials: tokenOf('basic') };
    expect(compiled({ proxy }).cluster.proxy).toEqual({
      host: 'proxy.example',
      port: 3128,
      authorization: `Basic ${btoa('user:secret')}`,
    });
  });

  test('carries what Envoy needs for TLS', () => {
    const caSecretRef = { name: 'ca', key: 'pem' };
    expect(compiled({ tls: { mode: 'Custom', caSecretRef, serverName: 'Other.example' } }).cluster.tls).toEqual({
      mode: 'Custom',
      serverName: 'other.example',
      ca,
    });
    expect(compiled({ tls: { mode: 'System' } }).cluster.tls).toEqual({
      mode: 'System',
      serverName: 'vllm-a.models.svc',
    });
    const tls = { mode: 'Custom', caConfigMapRef: caSecretRef, clientCertificateSecretRef: { name: 'client' } };
    expect(compiled({ tls }).cluster.tls).toEqual({
      mode: 'Custom',
      serverName: 'vllm-a.models.svc',
      ca: `${ca}of the company`,
      client: selfSigned,
    });
  });
});

describe('the name of a cluster', () => {
  const name = (spec: Readonly<Record<string, unknown>>): string => compiled(spec).cluster.name;

  test.each([
    ['tls', { tls: { mode: 'System' } }],
    ['health check', { healthCheck: { path: '/health' } }],
    ['capacity', { capacity: { maxConcurrentRequests: 3 } }],
    ['Host header', { host: 'a' }],
    ['proxy', { proxy: { host: 'a', port: 1 } }],
    ['client certificate', { tls: { mode: 'System', clientCertificateSecretRef: { name: 'client' } } }],
  ])('changes with its %s', (_about, spec) => {
    expect(name(spec)).not.toBe(name({}));
  });

  test.each([
    ['credential', { credentials: { secretRef: { name: 'tokens', key: 'a' } } }],
    ['host', { endpoint: { ...goodBackendSpec.endpoint, host: 'b' } }],
    ['path', { endpoint: { ...goodBackendSpec.endpoint, path: '/v2' } }],
    ['port', { endpoint: { ...goodBackendSpec.endpoint, port: 1 } }],
    ['Service', { endpoint: undefined, service: { name: 'b', port: 80 } }],
    ['InferencePool', { endpoint: undefined, inferencePool: { name: 'b' } }],
    ['limit of an endpoint', { capacity: { maxConcurrentRequestsPerEndpoint: 3 } }],
  ])('stays with another %s, of which its configuration tells nothing', (_about, spec) => {
    expect(name(spec)).toBe(name({}));
  });

  test('begins with the Backend, without the dots that Envoy splits statistics at', () => {
    const [cluster] = good([backend('vllm.a')]).clusters;
    expect(cluster?.name).toMatch(/^vllm_a-[0-9a-f]{24}$/);
    expect(cluster?.backend).toBe('vllm.a');
  });
});

describe('a bad object', () => {
  test('costs a model only the bad routes, named as the author counts them', () => {
    const routes = [
      { backend: 'nope', upstreamModel: 'q' },
      { backend: 'vllm-a', upstreamModel: 'q', wieght: 1 },
      twoRoutes[0],
      { backend: 'vllm-a', upstreamModel: 'again' },
    ];
    const { snapshot, problems } = compile([backend('vllm-a'), model('m', { routes })]);
    expect(routesOf(snapshot)).toEqual(['vllm-a']);
    expect(problems.map(({ field }) => field)).toEqual([
      'spec.routes[1].wieght',
      'spec.routes[3].backend',
      'spec.routes[0].backend',
    ]);
  });

  test('says that the backend of a route is there but broken', () => {
    const { problems } = compile([backend('vllm-a', { engine: 'x' }), model('m')]);
    expect(problems.map(({ where, message }) => [where, message])[1]).toEqual([
      'Model/m',
      'expected a usable Backend, "vllm-a" has a problem of its own',
    ]);
  });

  test('does not take a name that is in use: the first stays', () => {
    const objects = [
      backend('vllm-a'),
      backend('vllm-a', { engine: 'tgi' }),
      model('m'),
      model('n', { ownedBy: 'thief' }),
    ];
    const { snapshot, problems } = compile(objects);
    expect(snapshot.models.get('qwen/qwen3-8b')).toMatchObject({
      ownedBy: 'qwen',
      routes: [{ backend: { engine: 'vllm' } }],
    });
    expect(problems).toEqual([
      {
        where: 'Backend/vllm-a',
        field: 'metadata.name',
        message:
          'expected a name of its own, "vllm-a" is already taken by Backend/vllm-a, which counts because its file name and line come first',
      },
      {
        where: 'Model/n',
        field: 'spec.id',
        message:
          'expected a name of its own, "qwen/qwen3-8b" is already taken by Model/m, which counts because its file name and line come first',
      },
    ]);
  });

  test('does not take a name that is in use: the older stays, wherever it stands', () => {
    const created = (object: CatalogObject, creationTimestamp: string): CatalogObject => {
      const value = object.value as { readonly metadata: object };
      return { ...object, value: { ...value, metadata: { ...value.metadata, creationTimestamp } } };
    };
    const young = created(model('young', { ownedBy: 'young' }), '2026-02-01T00:00:00Z');
    const old = created(model('old', { ownedBy: 'old' }), '2026-01-01T00:00:00Z');
    const { snapshot, problems } = compile([backend('vllm-a'), young, old]);
    expect(snapshot.models.get('qwen/qwen3-8b')?.ownedBy).toBe('old');
    expect(problems[0]?.message).toMatch(/is already taken by Model\/old$/);
  });
});

describe('with the previous snapshot', () => {
  const before = [
    tokens,
    backend('vllm-a', { credentials: { secretRef: { name: 'tokens', key: 'a' } } }),
    backend('vllm-b'),
    model('m', { routes: twoRoutes }),
  ];
  const previous = good(before);

  test.each<[string, readonly CatalogObject[], readonly string[] | undefined]>([
    [
      'a model whose routes all lead nowhere',
      [...before.slice(0, 3), model('m', { routes: [{ backend: 'x', upstreamModel: 'q' }] })],
      ['vllm-a', 'vllm-b'],
    ],
    ['a model with a bad field', [...before.slice(0, 3), model('m', { contextLength: 'long' })], ['vllm-a', 'vllm-b']],
    ['a backend whose Secret is gone', before.slice(1), ['vllm-a', 'vllm-b']],
    [
      'a backend with a bad field',
      [tokens, backend('vllm-a', { engine: 1 }), ...before.slice(2)],
      ['vllm-a', 'vllm-b'],
    ],
    ['a backend that is gone', [tokens, ...before.slice(2)], ['vllm-b']],
    ['a bad model whose backend is gone', [backend('vllm-b'), model('m', { contextLength: 'long' })], ['vllm-b']],
    ['a bad model whose backends are all gone', [model('m', { contextLength: 'long' })], undefined],
    ['a model that is gone', before.slice(0, 3), undefined],
  ])('serves on what was good and is still there: %s', (_about, objects, expected) => {
    expect(routesOf(compile(objects, { previous }).snapshot)).toEqual(expected);
  });

  test('keeps the credential of a backend whose Secret is gone', () => {
    const [route] = compile(before.slice(1), { previous }).snapshot.models.get('qwen/qwen3-8b')!.routes;
    expect(route?.backend.headers).toEqual([['authorization', 'Bearer sk-a']]);
  });

  test('without it the same objects serve only what is good', () => {
    expect(routesOf(compile(before.slice(1)).snapshot)).toEqual(['vllm-b']);
  });
});

describe('the version', () => {
  const base = [tokens, backend('vllm-a'), backend('vllm-b'), model('m')];
  const version = (objects: readonly CatalogObject[]): string => compile(objects).snapshot.version;
  const withToken = (value: string): string =>
    version([
      secret('t', { stringData: { k: value } }),
      backend('vllm-a', { credentials: { secretRef: { name: 't', key: 'k' } } }),
      model('m'),
    ]);

  test('is the same for the same catalog in another order', () => {
    expect(version(base.toReversed())).toBe(version(base));
  });

  test.each([
    ['price', [...base.slice(0, 3), model('m', { pricing: { prompt: '0', completion: '0' } })]],
    ['route', [...base.slice(0, 3), model('m', { routes: twoRoutes })]],
    ['cluster that no model uses', [tokens, backend('vllm-a'), model('m')]],
    ['capacity', [...base.slice(2), backend('vllm-a', { capacity: { maxConcurrentRequests: 1 } })]],
  ])('changes with a %s', (_about, objects) => {
    expect(version(objects)).not.toBe(version(base));
  });

  test('changes with a credential', () => {
    expect(withToken('one')).not.toBe(withToken('two'));
  });
});

test('takes "Off", the earlier spelling of Disabled, for what it meant', () => {
  const { snapshot, problems } = compile([
    backend('vllm-a', { tls: { mode: 'Off' } }),
    model('qwen3-8b', { hedging: { mode: 'Off' } }),
  ]);
  expect(problems).toEqual([]);
  expect(snapshot.models.get('qwen/qwen3-8b')?.hedging).toBe('Disabled');
  expect(snapshot.clusters.map(({ tls }) => tls)).toEqual([{ mode: 'Disabled' }]);
});

const withToken = { credentials: { secretRef: { name: 'token', key: 'key' } } };
const token = secret('token', { data: { key: btoa('first') } });

it('keeps what is good, and nothing of what never was', () => {
  const good = [token, backend('vllm-a', withToken), model('a')];
  const bad = model('b', { id: 'a/b', contextLength: 0 });
  expect(keepObjects(compile([...good, bad]).results, [])).toEqual(good);
});

it('keeps what turned bad as it last was good, with the Secret that it needs', () => {
  const before = [token, backend('vllm-a', withToken), model('a')];
  const previous = compile(before).snapshot;
  const other = { credentials: { secretRef: { name: 'gone', key: 'key' } } };
  const { results, snapshot } = compile([backend('vllm-a', other), model('a')], { previous });
  const kept = keepObjects(results, before);
  expect(new Set(kept.map(({ where }) => where))).toEqual(new Set(['Secret/token', 'Backend/vllm-a', 'Model/a']));
  // A start without the source serves just what is served now.
  expect(compile(kept).snapshot.version).toBe(snapshot.version);
});

it('lets go of what is gone', () => {
  const before = [token, backend('vllm-a', withToken), model('a')];
  expect(keepObjects(compile([backend('vllm-a')]).results, before)).toEqual([backend('vllm-a')]);
});

describe('models of a kind', () => {
  const kinds = {
    chat: {},
    embedding: { kind: 'Embedding', embedding: { dimensions: 1024 }, pricing: { prompt: '0.00000002' } },
    rerank: { kind: 'Rerank', pricing: { prompt: '0.00000002' } },
  } as const;

  test('are compiled with their facts, and cost nothing for output', () => {
    const { snapshot, problems } = compile([
      backend('vllm-a'),
      model('m'),
      model('e', {
        id: 'org/embed',
        ...kinds.embedding,
        embedding: { dimensions: 1024, shorterDimensions: [512, 256, 512], maxInputs: 8, minSimilarity: '0.99' },
      }),
    ]);
    expect(problems).toEqual([]);
    expect(snapshot.models.get('qwen/qwen3-8b')).toMatchObject({ kind: undefined, embedding: undefined });
    expect(snapshot.models.get('org/embed')).toMatchObject({
      kind: 'embedding',
      embedding: {
        dimensions: 1024,
        shorterDimensions: [256, 512],
        maxInputs: 8,
        minSimilarity: 0.99,
        tokenIds: false,
      },
      prices: { prompt: 20_000n, completion: 0n, inputCacheRead: 20_000n },
    });
  });

  test.each([
    ['chat', 'tei', 'serves chat'],
    ['chat', 'infinity', 'serves chat'],
    ['embedding', 'tgi', 'makes embeddings'],
    ['embedding', 'deepseek', 'makes embeddings'],
    ['rerank', 'ollama', 'orders documents'],
    ['rerank', 'tgi', 'orders documents'],
  ] as const)('need an engine that can do it: %s on %s', (kind, engine, what) => {
    const { snapshot, problems } = compile([backend('vllm-a', { engine }), model('m', kinds[kind])]);
    expect(snapshot.models.size).toBe(0);
    expect(problems).toEqual([
      {
        where: 'Model/m',
        field: 'spec.routes[0].backend',
        message: `expected a Backend whose engine ${what}, "vllm-a" is ${engine}`,
      },
    ]);
  });

  test.each([
    ['llamacpp', { shorterDimensions: [8] }, 'shortens vectors'],
    ['ollama', { tokenIds: true }, 'takes token ids'],
  ] as const)('need an engine that can do what callers may ask for: %s, %j', (engine, more, what) => {
    const embedding = { dimensions: 1024, ...more };
    const { problems } = compile([backend('vllm-a', { engine }), model('m', { ...kinds.embedding, embedding })]);
    expect(problems.map(({ message }) => message)).toEqual([
      `expected a Backend whose engine ${what}, "vllm-a" is ${engine}`,
    ]);
  });

  test.each(['vllm', 'sglang', 'llamacpp', 'tei', 'infinity', 'openai', 'together'] as const)(
    'are served by %s',
    (engine) => {
      const { problems } = compile([backend('vllm-a', { engine }), model('m', kinds.embedding)]);
      expect(problems).toEqual([]);
    },
  );
});
