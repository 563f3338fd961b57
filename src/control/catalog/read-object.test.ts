import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backend, goodModelSpec, model, secret } from '../../../test/support/catalog-objects.ts';
import type { CatalogObject } from '../../core/catalog.ts';
import { compile } from './compile.ts';

type Row = readonly [about: string, object: CatalogObject, field: string, message: string];

const weir = { apiVersion: 'weir.dev/v1alpha1', metadata: { name: 'x' } };
const raw = (value: unknown): CatalogObject => ({ where: 'x.yaml', value });
const endpoint = { host: 'a', port: 1 };

const rows: readonly Row[] = [
  ['a document that is text', raw('hello'), '', 'expected an object with apiVersion, kind, metadata and spec'],
  [
    'a foreign apiVersion',
    raw({ ...weir, apiVersion: 'apps/v1' }),
    'apiVersion',
    'expected "weir.dev/v1alpha1" or "v1" (Secret, ConfigMap)',
  ],
  [
    'a misspelt kind',
    raw({ ...weir, kind: 'Modle' }),
    'kind',
    'expected Backend or Model or Workspace or ApiKey or Credit or Identity with this apiVersion (Did you mean Model?)',
  ],
  [
    'a core object that is no Secret',
    raw({ ...weir, apiVersion: 'v1', kind: 'Pod' }),
    'kind',
    'expected Secret or ConfigMap with this apiVersion',
  ],
  ['no spec', raw({ ...weir, kind: 'Backend' }), 'spec', 'required, expected a group of fields'],
  [
    'a name with capitals',
    backend('Vllm'),
    'metadata.name',
    'expected lowercase letters, digits, "-" and ".", beginning and ending with a letter or digit',
  ],
  [
    'an unknown engine',
    backend('b', { engine: 'vlm' }),
    'spec.engine',
    'expected one of "openai", "vllm", "sglang", "llamacpp", "ollama", "tgi", "deepseek", "dashscope", "moonshot", "zai", "fireworks", "together", "tei", "infinity" (Did you mean vllm?)',
  ],
  [
    'a misspelt field',
    backend('b', { endpont: {} }),
    'spec.endpont',
    'unknown field, expected one of: engine, endpoint, endpoints, service, inferencePool, path, tls, credentials, headers, query, host, proxy, requests, timeouts, capacity, healthCheck (Did you mean endpoint?)',
  ],
  ['no host', backend('b', { endpoint: { port: 1 } }), 'spec.endpoint.host', 'required, expected text'],
  [
    'a URL as host',
    backend('b', { endpoint: { host: 'http://a', port: 1 } }),
    'spec.endpoint.host',
    'expected a host name or an IP address, without scheme, port or path',
  ],
  [
    'a port as text',
    backend('b', { endpoint: { host: 'a', port: '80' } }),
    'spec.endpoint.port',
    'expected a number, got text',
  ],
  [
    'a port with a fraction',
    backend('b', { endpoint: { host: 'a', port: 1.5 } }),
    'spec.endpoint.port',
    'expected a whole number, got a number that is not whole',
  ],
  [
    'a port too high',
    backend('b', { endpoint: { host: 'a', port: 65_536 } }),
    'spec.endpoint.port',
    'expected at most 65535',
  ],
  ['port 0', backend('b', { endpoint: { host: 'a', port: 0 } }), 'spec.endpoint.port', 'expected at least 1'],
  [
    'nowhere to find it',
    backend('b', { endpoint: undefined }),
    'spec',
    'expected exactly one of endpoint, endpoints, service and inferencePool',
  ],
  [
    'two ways to find it',
    backend('b', { endpoints: [endpoint] }),
    'spec',
    'expected exactly one of endpoint, endpoints, service and inferencePool',
  ],
  [
    'an endpoint twice',
    backend('b', { endpoint: undefined, endpoints: [endpoint, { host: 'b', port: 1 }, endpoint] }),
    'spec.endpoints[2]',
    'expected each host and port once',
  ],
  [
    'two paths',
    backend('b', { path: '/v1' }),
    'spec.path',
    'expected only with endpoints, service or inferencePool; with endpoint it is endpoint.path',
  ],
  [
    'a Service by its host name',
    backend('b', { endpoint: undefined, service: { name: 'a.models.svc', port: 1 } }),
    'spec.service.name',
    'expected the name of a Service: lowercase letters, digits and "-", beginning and ending with a letter or digit',
  ],
  [
    'a Service without its port',
    backend('b', { endpoint: undefined, service: { name: 'a' } }),
    'spec.service.port',
    'required, expected a whole number, 1 to 65535, or the name of a port: lowercase letters, digits and "-" with a letter among them',
  ],
  [
    'a port of a Service in quotes',
    backend('b', { endpoint: undefined, service: { name: 'a', port: '80' } }),
    'spec.service.port',
    'expected a whole number, 1 to 65535, or the name of a port: lowercase letters, digits and "-" with a letter among them',
  ],
  [
    'port 0 of a Service',
    backend('b', { endpoint: undefined, service: { name: 'a', port: 0 } }),
    'spec.service.port',
    'expected a whole number, 1 to 65535, or the name of a port: lowercase letters, digits and "-" with a letter among them',
  ],
  [
    'an InferencePool by a name that none has',
    backend('b', { endpoint: undefined, inferencePool: { name: 'Qwen' } }),
    'spec.inferencePool.name',
    'expected the name of an InferencePool: lowercase letters, digits, "-" and ".", beginning and ending with a letter or digit',
  ],
  [
    'an InferencePool beside a Service',
    backend('b', { endpoint: undefined, inferencePool: { name: 'a' }, service: { name: 'a', port: 1 } }),
    'spec',
    'expected exactly one of endpoint, endpoints, service and inferencePool',
  ],
  [
    'no name to verify',
    backend('b', { endpoint: undefined, service: { name: 'a', port: 1 }, tls: { mode: 'System' } }),
    'spec.tls.serverName',
    'required with TLS and endpoints, service or inferencePool: the engines need one name to verify',
  ],
  [
    'a path that climbs',
    backend('b', { endpoint: { ...endpoint, path: '/v1/../admin' } }),
    'spec.endpoint.path',
    'expected a path that begins with "/", without "." segments, query or fragment, such as "/v1"',
  ],
  [
    'a path with a line break',
    backend('b', { endpoint: { ...endpoint, path: '/v1\r\nx: y' } }),
    'spec.endpoint.path',
    'expected a path that begins with "/", without "." segments, query or fragment, such as "/v1"',
  ],
  [
    'Off read as false',
    backend('b', { tls: { mode: false } }),
    'spec.tls.mode',
    'expected one of "Disabled", "System", "Custom", "Off"; write Disabled',
  ],
  [
    'Custom without authorities',
    backend('b', { tls: { mode: 'Custom' } }),
    'spec.tls.caSecretRef',
    'required with tls.mode Custom, or caConfigMapRef',
  ],
  [
    'authorities without Custom',
    backend('b', { tls: { mode: 'System', caSecretRef: { name: 's', key: 'k' } } }),
    'spec.tls.caSecretRef',
    'expected only with tls.mode Custom',
  ],
  [
    'a server name without TLS',
    backend('b', { tls: { serverName: 'a' } }),
    'spec.tls.serverName',
    'expected only with tls.mode System or Custom',
  ],
  [
    'a reference without its key',
    backend('b', { credentials: { secretRef: { name: 's' } } }),
    'spec.credentials.secretRef.key',
    'required, expected text',
  ],
  [
    'a Secret that is not there',
    backend('b', { credentials: { secretRef: { name: 's', key: 'k' } } }),
    'spec.credentials.secretRef.name',
    'expected a Secret, there is no usable one named "s"',
  ],
  [
    'a key that is not there',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'k' } } }),
    'spec.credentials.secretRef.key',
    'expected a key of Secret "tokens", it has no "k"',
  ],
  [
    'a key of every object',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'constructor' } } }),
    'spec.credentials.secretRef.key',
    'expected a key of Secret "tokens", it has no "constructor"',
  ],
  [
    'a token of two lines',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'two-lines' } } }),
    'spec.credentials.secretRef.key',
    'expected 1 to 8192 visible characters in key "two-lines" of Secret "tokens"',
  ],
  [
    'an empty token',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'empty' } } }),
    'spec.credentials.secretRef.key',
    'expected 1 to 8192 visible characters in key "empty" of Secret "tokens"',
  ],
  [
    'a token that is not text',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'binary' } } }),
    'spec.credentials.secretRef.key',
    'expected UTF-8 text in key "binary" of Secret "tokens"',
  ],
  [
    'authorities that are no PEM',
    backend('b', { tls: { mode: 'Custom', caSecretRef: { name: 'tokens', key: 'good' } } }),
    'spec.tls.caSecretRef.key',
    'expected PEM certificates in key "good" of Secret "tokens"',
  ],
  [
    'authorities from two places',
    backend('b', {
      tls: { mode: 'Custom', caSecretRef: { name: 's', key: 'k' }, caConfigMapRef: { name: 's', key: 'k' } },
    }),
    'spec.tls.caConfigMapRef',
    'expected only one of caSecretRef and caConfigMapRef',
  ],
  [
    'a ConfigMap that is not there',
    backend('b', { tls: { mode: 'Custom', caConfigMapRef: { name: 'tokens', key: 'good' } } }),
    'spec.tls.caConfigMapRef.name',
    'expected a ConfigMap, there is no usable one named "tokens"',
  ],
  [
    'a client certificate without TLS',
    backend('b', { tls: { clientCertificateSecretRef: { name: 'tokens' } } }),
    'spec.tls.clientCertificateSecretRef',
    'expected only with tls.mode System or Custom',
  ],
  [
    'a client certificate without its keys',
    backend('b', { tls: { mode: 'System', clientCertificateSecretRef: { name: 'tokens' } } }),
    'spec.tls.clientCertificateSecretRef.name',
    'expected a key of Secret "tokens", it has no "tls.crt"',
  ],
  [
    'a client certificate that is none',
    backend('b', { tls: { mode: 'System', clientCertificateSecretRef: { name: 'no-pair' } } }),
    'spec.tls.clientCertificateSecretRef.name',
    'expected a PEM certificate and its key in "tls.crt" and "tls.key" of Secret "no-pair"',
  ],
  [
    'Basic without a password',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'good' }, scheme: 'Basic' } }),
    'spec.credentials.secretRef.key',
    'expected user:password in key "good" of Secret "tokens"',
  ],
  [
    'a proxy’s credential without a password',
    backend('b', { proxy: { host: 'a', port: 1, credentials: { secretRef: { name: 'tokens', key: 'good' } } } }),
    'spec.proxy.credentials.secretRef.key',
    'expected user:password in key "good" of Secret "tokens"',
  ],
  [
    'a proxy before pods',
    backend('b', { endpoint: undefined, service: { name: 'a', port: 1 }, proxy: { host: 'a', port: 1 } }),
    'spec.proxy',
    'expected only with endpoint or endpoints',
  ],
  [
    'a health check through a proxy',
    backend('b', { proxy: { host: 'a', port: 1 }, healthCheck: { path: '/health' } }),
    'spec.healthCheck',
    'expected only without proxy: Envoy cannot check through it, and the results of requests are used',
  ],
  [
    'a header that Weir sets',
    backend('b', { headers: [{ name: 'Content-Type', value: 'a' }] }),
    'spec.headers[0].name',
    'expected a header that neither HTTP nor Weir sets itself; for Host there is the field host',
  ],
  [
    'a credential in the Host header',
    backend('b', { credentials: { secretRef: { name: 'tokens', key: 'good' }, header: 'host' } }),
    'spec.credentials.header',
    'expected a header that neither HTTP nor Weir sets itself; for Host there is the field host',
  ],
  [
    'a header with no name',
    backend('b', { headers: [{ name: 'a b', value: 'a' }] }),
    'spec.headers[0].name',
    'expected the name of a header, such as "x-api-key"',
  ],
  [
    'a header twice',
    backend('b', {
      headers: [
        { name: 'x-a', value: '1' },
        { name: 'x-a', value: '2' },
      ],
    }),
    'spec.headers[1]',
    'expected each name once',
  ],
  [
    'a header that breaks the line',
    backend('b', { headers: [{ name: 'x-a', value: 'a\r\nx-b: c' }] }),
    'spec.headers[0].value',
    'expected visible ASCII characters, with spaces only between them',
  ],
  [
    'a header with two values',
    backend('b', { headers: [{ name: 'x-a', value: 'a', secretRef: { name: 'tokens', key: 'good' } }] }),
    'spec.headers[0]',
    'expected exactly one of value and secretRef',
  ],
  [
    'a query with no value',
    backend('b', { query: [{ name: 'a' }] }),
    'spec.query[0]',
    'expected exactly one of value and secretRef',
  ],
  [
    'a query with a Secret that is not there',
    backend('b', { query: [{ name: 'a', secretRef: { name: 's', key: 'k' } }] }),
    'spec.query[0].secretRef.name',
    'expected a Secret, there is no usable one named "s"',
  ],
  [
    'a Host header with a scheme',
    backend('b', { host: 'https://a' }),
    'spec.host',
    'expected a host name, perhaps with a port, without scheme or path',
  ],
  [
    'a default above its range',
    backend('b', { requests: { defaults: { temperature: 3 } } }),
    'spec.requests.defaults.temperature',
    'expected at most 2',
  ],
  [
    'no room at all',
    backend('b', { capacity: { maxConcurrentRequests: 0 } }),
    'spec.capacity.maxConcurrentRequests',
    'expected at least 1',
  ],
  [
    'a health check without a path',
    backend('b', { healthCheck: {} }),
    'spec.healthCheck.path',
    'required, expected text',
  ],
  [
    'a model id with capitals',
    model('m', { id: 'Qwen/Qwen3' }),
    'spec.id',
    'expected lowercase <org>/<model> of letters, digits, ".", "_" and "-", such as "qwen/qwen3-8b"',
  ],
  [
    'a model id with a suffix',
    model('m', { id: 'qwen/qwen3:free' }),
    'spec.id',
    'expected lowercase <org>/<model> of letters, digits, ".", "_" and "-", such as "qwen/qwen3-8b"',
  ],
  [
    'a day that does not exist',
    model('m', { added: '2026-02-30T00:00:00Z' }),
    'spec.added',
    'expected a date and time such as "2026-06-01T00:00:00Z"',
  ],
  [
    'a price as a number',
    model('m', { pricing: { prompt: 1e-7, completion: '1' } }),
    'spec.pricing.prompt',
    'expected a decimal in quotes, USD per token, such as "0.00000015"',
  ],
  [
    'a price with 13 decimals',
    model('m', { pricing: { prompt: '0.0000000000001', completion: '1' } }),
    'spec.pricing.prompt',
    'expected USD per token below 10 with at most 12 decimals and no sign, such as "0.00000015"',
  ],
  [
    'a negative price',
    model('m', { pricing: { prompt: '1', completion: '-1' } }),
    'spec.pricing.completion',
    'expected USD per token below 10 with at most 12 decimals and no sign, such as "0.00000015"',
  ],
  ['no price', model('m', { pricing: undefined }), 'spec.pricing', 'required, expected a group of fields'],
  [
    'images without text',
    model('m', { inputModalities: ['image'] }),
    'spec.inputModalities',
    'expected [text] or [text, image]',
  ],
  [
    'an unknown modality',
    model('m', { inputModalities: ['text', 'audio'] }),
    'spec.inputModalities[1]',
    'expected one of "text", "image"',
  ],
  [
    'efforts without reasoning',
    model('m', { reasoning: { efforts: ['low'] } }),
    'spec.reasoning.efforts',
    'expected none with reasoning.mode None',
  ],
  [
    'a tokenizer outside its root',
    model('m', { tokenizer: { path: '../etc' } }),
    'spec.tokenizer.path',
    'expected a relative folder without ".." or hidden parts, such as "qwen3-8b"',
  ],
  [
    'an availability above one',
    model('m', { serviceLevel: { minAvailability: '1.5' } }),
    'spec.serviceLevel.minAvailability',
    'expected a decimal in quotes from "0" to "1", such as "0.99"',
  ],
  [
    'a route to nowhere',
    model('m', { routes: [{ backend: 'nope', upstreamModel: 'q' }] }),
    'spec.routes[0].backend',
    'expected a Backend, there is none named "nope"',
  ],
  [
    'image tokens of a model without images',
    model('m', { tokenizer: { path: 't', tokensPerImage: 10 } }),
    'spec.tokenizer.tokensPerImage',
    'expected only with inputModalities [text, image]',
  ],
  [
    'a chat model without a price of its output',
    model('m', { pricing: { prompt: '0.1' } }),
    'spec.pricing.completion',
    'expected a price with kind Chat',
  ],
  [
    'an embedding model without its facts',
    model('m', { kind: 'Embedding' }),
    'spec.embedding',
    'expected with kind Embedding',
  ],
  [
    'facts about vectors of a chat model',
    model('m', { embedding: { dimensions: 3 } }),
    'spec.embedding',
    'expected only with kind Embedding',
  ],
  [
    'facts about reranking of an embedding model',
    model('m', { kind: 'Embedding', embedding: { dimensions: 3 }, rerank: {} }),
    'spec.rerank',
    'expected only with kind Rerank',
  ],
  [
    'a shorter length that is not shorter',
    model('m', { kind: 'Embedding', embedding: { dimensions: 3, shorterDimensions: [2, 3] } }),
    'spec.embedding.shorterDimensions',
    'expected lengths below dimensions',
  ],
  [
    'a similarity above 1',
    model('m', { kind: 'Embedding', embedding: { dimensions: 3, minSimilarity: '1.01' } }),
    'spec.embedding.minSimilarity',
    'expected a decimal in quotes from "0" to "1", such as "0.999"',
  ],
  [
    'a retirement before it joined',
    model('m', { added: '2026-06-01T00:00:00Z', retireAt: '2026-06-01T02:00:00+02:00' }),
    'spec.retireAt',
    'expected a moment after added',
  ],
  [
    'a moment without seconds',
    model('m', { added: '2026-06-01T00:00Z' }),
    'spec.added',
    'expected a date and time such as "2026-06-01T00:00:00Z"',
  ],
  [
    'a name too long by a character',
    model('m', { ownedBy: '😀'.repeat(129) }),
    'spec.ownedBy',
    'expected at most 128 characters',
  ],
  [
    'a way to continue where nothing can be continued',
    model('m', {
      routes: [{ ...goodModelSpec.routes[0], capabilities: { continuation: false, continuationMark: 'flag' } }],
    }),
    'spec.routes[0].capabilities.continuationMark',
    'expected only where continuation is not false',
  ],
  [
    'tools that work on a stream alone',
    model('m', { routes: [{ ...goodModelSpec.routes[0], capabilities: { tools: false, streamedTools: true } }] }),
    'spec.routes[0].capabilities.streamedTools',
    'expected only where tools is not false',
  ],
  [
    'a reasoning that begins open and never closes',
    model('m', {
      routes: [{ ...goodModelSpec.routes[0], capabilities: { inlineReasoning: { tags: [], implicitOpen: true } } }],
    }),
    'spec.routes[0].capabilities.inlineReasoning.implicitOpen',
    'expected only with tags or pairs',
  ],
  ['an empty field that must not be', model('m', { ownedBy: null }), 'spec.ownedBy', 'required, expected text'],
  ['an unknown empty field', backend('b', { endpont: null }), 'spec.endpont', expect.stringMatching(/^unknown field/)],
  ['a route as text', model('m', { routes: ['vllm-a'] }), 'spec.routes[0]', 'expected a group of fields, got text'],
  ['no routes', model('m', { routes: [] }), 'spec.routes', 'expected at least 1 entries'],
  [
    'a misspelt capability',
    model('m', { routes: [{ ...goodModelSpec.routes[0], capabilities: { tool: true } }] }),
    'spec.routes[0].capabilities.tool',
    expect.stringMatching(/^unknown field, expected one of: tools, responseFormats, parameters, toolChoice/),
  ],
  [
    'a Secret value that is no base64',
    secret('s', { data: { token: 'not base64!' } }),
    'data.token',
    'expected base64 on one line',
  ],
  [
    'a Secret value that is no text',
    secret('s', { stringData: { token: 7 } }),
    'stringData.token',
    'expected text, got a number',
  ],
  [
    'a Secret key that is none',
    secret('s', { data: { 'a b': '' } }),
    'data["a b"]',
    'name not allowed: expected letters, digits, "-", "_" and "."',
  ],
  [
    'labels as a list',
    raw({ ...weir, kind: 'Model', metadata: { name: 'm', labels: [1] }, spec: goodModelSpec }),
    'metadata.labels',
    'expected a group of fields, got a list',
  ],
];

const around: readonly CatalogObject[] = [
  secret('tokens', {
    stringData: { good: 'sk-1', 'two-lines': 'sk-1\nx: y', empty: ' \n' },
    data: { binary: Buffer.from([0xff, 0xfe]).toString('base64') },
  }),
  secret('no-pair', { stringData: { 'tls.crt': 'a', 'tls.key': 'b' } }),
  backend('vllm-a'),
  model('good', { id: 'good/good' }),
];

test.each(rows)('names the field and what was expected: %s', (_about, object, field, message) => {
  const { snapshot, problems } = compile([...around, object]);
  expect(problems).toEqual([{ where: object.where, field, message }]);
  expect([...snapshot.models.keys()]).toEqual(['good/good']);
});

test('counts characters and not UTF-16 units', () => {
  expect(compile([backend('vllm-a'), model('m', { ownedBy: '😀'.repeat(128) })]).problems).toEqual([]);
});

test('takes an empty field for one that is not there', () => {
  const objects = [
    backend('vllm-a', { tls: null, capacity: { maxConcurrentRequests: null }, healthCheck: null }),
    model('m', { reasoning: { mode: null }, routes: [{ ...goodModelSpec.routes[0], weight: null }] }),
  ];
  const { snapshot, problems } = compile(objects);
  expect(problems).toEqual([]);
  expect(snapshot.version).toBe(compile([backend('vllm-a'), model('m')]).snapshot.version);
});

test('names every fault of an object, not only the first', () => {
  const { problems } = compile([backend('b', { engine: 1, endpoint: { port: 0, x: 1 } })]);
  expect(problems.map(({ field }) => field)).toEqual([
    'spec.engine',
    'spec.endpoint.host',
    'spec.endpoint.port',
    'spec.endpoint.x',
  ]);
});

test('adds the line of the field when the source knows it', () => {
  const object = { ...backend('b', { engine: 1 }), where: 'b.yaml', lineOf: () => 7 };
  expect(compile([object]).problems[0]?.where).toBe('b.yaml:7');
});

test('never shows a value of a Secret', () => {
  const canary = 'sk-canary-7f3a';
  const objects = [
    secret('a', { data: { token: canary } }),
    secret('b', { stringData: { token: [canary] }, type: 3 }),
    secret('c', { stringData: { token: `${canary}\n${canary}` }, extra: canary }),
    backend('d', { credentials: { secretRef: { name: 'c', key: 'token' } } }),
    backend('e', { credentials: { token: canary } }),
  ];
  const { problems } = compile(objects);
  expect(problems.length).toBeGreaterThan(4);
  expect(JSON.stringify(problems)).not.toContain(canary);
});

describe('hostile input', () => {
  const skeleton = fc.record(
    {
      apiVersion: fc.constantFrom('weir.dev/v1alpha1', 'v1', 'x'),
      kind: fc.constantFrom('Backend', 'Model', 'Secret', 'toString'),
      metadata: fc.oneof(fc.record({ name: fc.constantFrom('a', 'vllm-a', '__proto__') }), fc.jsonValue()),
      spec: fc.oneof(
        fc.record({
          ...fieldsOf(goodModelSpec),
          routes: fc.oneof(fc.array(fc.jsonValue()), fc.constant(goodModelSpec.routes)),
        }),
        fc.record({ engine: fc.constantFrom('vllm', 1), endpoint: fc.jsonValue(), tls: fc.jsonValue() }),
        fc.jsonValue(),
      ),
      data: fc.jsonValue(),
      stringData: fc.dictionary(fc.string(), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );

  test('never throws, and never loses a good object', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.jsonValue(), skeleton), { maxLength: 6 }), (values) => {
        const { snapshot } = compile([...around, ...values.map(raw)]);
        expect(snapshot.models.has('good/good')).toBe(true);
        expect(compile(values.map(raw), { previous: snapshot }).snapshot.version).toHaveLength(32);
      }),
      { numRuns: 1000 },
    );
  });

  test('survives a Secret of 4 MiB', () => {
    expect(compile([secret('s', { data: { token: 'A'.repeat(4 * 1024 * 1024) } })]).problems[0]?.field).toBe(
      'data.token',
    );
  });
});

/** Each field as it should be, or anything. */
function fieldsOf(spec: Readonly<Record<string, unknown>>): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(spec).map(([name, value]) => [name, fc.oneof(fc.constant(value), fc.jsonValue())]),
  );
}
