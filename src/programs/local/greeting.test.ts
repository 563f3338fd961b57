import { expect, test } from 'vitest';
import { greetingLines } from './greeting.ts';

type Greeting = Parameters<typeof greetingLines>[0];

const usual: Greeting = {
  baseUrl: 'http://127.0.0.1:65535/v1',
  opsUrls: ['http://127.0.0.1:9190/metrics'],
  portal: `http://127.0.0.1:65535/#token=${'t'.repeat(32)}`,
  key: `sk-weir-${'k'.repeat(49)}`,
  workspace: undefined,
  models: ['demo/chat', 'demo/embed', 'demo/mini'],
  faults: new Map(),
  answering: 'demo/chat',
  kind: 'chat',
  catalog: { kind: 'folder', folder: '/home/operator/weir/.weir/manifests-demo' },
  logs: '/home/operator/weir/.weir/logs',
  dataFlag: '',
  others: [
    { name: 'llama-server', command: 'npm start -- --port 18080 --upstream http://[::1]:8080' },
    {
      name: 'OPENAI_BASE_URL',
      command: 'WEIR_UPSTREAM_KEY="$OPENAI_API_KEY" npm start -- --upstream "$OPENAI_BASE_URL"',
    },
  ],
};
const long = '/home/operator/a/rather/long/path/to/the/folder/of/a/checkout/of/weir';

const greetings: readonly (readonly [string, Partial<Greeting>])[] = [
  ['of a usual start', {}],
  ['with TLS', { baseUrl: 'https://127.0.0.1:65535/v1' }],
  ['without a key', { key: undefined }],
  ['without a key, in a folder with a long path', { key: undefined, dataFlag: ` --data '${long}'` }],
  ['in a folder with a long path', { logs: `${long}/logs`, catalog: { kind: 'folder', folder: `${long}/m` } }],
  ['of a cluster', { catalog: { kind: 'kubernetes', namespace: 'n'.repeat(63) } }],
  [
    'with many models',
    { models: Array.from({ length: 20 }, (_, at) => `organisation-${at}/a-model-of-${at}-billions`) },
  ],
  ['with an embedding model alone', { models: ['demo/vectors'], answering: 'demo/vectors', kind: 'embedding' }],
  ['without an engine that answers', { answering: undefined }],
  [
    'with an engine that refuses the key',
    { faults: new Map([['demo/chat', 'vllm-a refuses the credential (HTTP 401)']]) },
  ],
  ['without models', { models: [], answering: undefined }],
  ['with many services', { opsUrls: Array.from({ length: 9 }, (_, at) => `http://127.0.0.1:919${at}/metrics`) }],
];

test.each(greetings)('fits 80 columns %s', (_, difference) => {
  const lines = greetingLines({ ...usual, ...difference });
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.at(-1)).toBe(`ready ${difference.baseUrl ?? usual.baseUrl}`);
  expect(lines.filter((line) => line.startsWith('ready'))).toHaveLength(1);
});

test('a value that would be cut has a line of its own, whole', () => {
  const folder = `${long}/${'deeper/'.repeat(5)}manifests`;
  const lines = greetingLines({ ...usual, catalog: { kind: 'folder', folder } });
  expect(lines).toContain(`  ${folder}`);
  expect(lines[lines.indexOf(`  ${folder}`) - 1]).toBe('manifests:');
});

test.each([
  [[], ['models:    none yet']],
  [['a/b'], ['models:    a/b']],
  [['a/b', 'c/d'], ['models:    a/b, c/d']],
  [
    ['a/b', `c/${'d'.repeat(90)}`, 'e/f'],
    ['models:    a/b,', `           c/${'d'.repeat(90)},`, '           e/f'],
  ],
  [Array.from({ length: 9 }, () => 'a/b'), [`models:    ${'a/b, '.repeat(8)}… (9 in all)`]],
])('the models %j are listed', (models, expected) => {
  const lines = greetingLines({ ...usual, models });
  const at = lines.findIndex((line) => line.startsWith('models:'));
  expect(lines.slice(at, at + expected.length)).toEqual(expected);
});

test.each([
  [
    'chat',
    '/v1/chat/completions',
    `  -d '{"model": "demo/chat", "stream": true,`,
    `       "messages": [{"role": "user", "content": "Hello!"}]}'`,
  ],
  ['embedding', '/v1/embeddings', `  -d '{"model": "demo/chat", "input": "Hello!"}'`],
  [
    'rerank',
    '/v1/rerank',
    `  -d '{"model": "demo/chat", "query": "Hello!",`,
    `       "documents": ["Good morning", "The end"]}'`,
  ],
] as const)('the example is a request that a model for %s answers', (kind, path, ...body) => {
  const lines = greetingLines({ ...usual, kind });
  const at = lines.findIndex((line) => line.startsWith('curl'));
  expect(lines[at]).toContain(path);
  expect(lines.slice(at + 2, at + 2 + body.length)).toEqual(body);
});

test('a wrong key is shown beside the model', () => {
  const faults = new Map([['demo/chat', 'vllm-a refuses the credential (HTTP 401)']]);
  const lines = greetingLines({ ...usual, faults });
  expect(lines[lines.findIndex((line) => line.startsWith('models:')) + 1]).toBe(
    '           demo/chat: vllm-a refuses the credential (HTTP 401)',
  );
});

test.each([
  [undefined, ['npx weir workspace create mine --credit 10', 'npx weir key create --workspace mine']],
  // A second `workspace create` of the same name would fail.
  ['acme', ['npx weir key create --workspace acme']],
])('without a key, the commands that make one work as they stand: %s', (workspace, expected) => {
  const lines = greetingLines({ ...usual, key: undefined, workspace });
  expect(lines.filter((line) => line.startsWith('npx'))).toEqual(expected);
});
