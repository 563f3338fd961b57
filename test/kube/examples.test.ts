import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { checkObject } from '../../src/control/catalog/read-object.ts';
import { isObject } from '../../src/core/json.ts';
import { foreignCrdFolder, installCrds, makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';

// What we show, works: every manifest in the examples and the documentation is taken by kubectl as it stands.

const kubernetes = inject('kubernetes');
const root = join(import.meta.dirname, '..', '..');
const filesIn = (folder: string, end: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end) && !name.includes('node_modules/'))
    .map((name) => join(folder, name));

/** Blocks of YAML in a page that are whole objects of ours. */
const blocksOf = (page: string): readonly string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)]
    .map(([, block = '']) => block)
    .filter((block) => /^apiVersion: weir\.dev\//m.test(block));

const shown = [
  ...[
    'examples/manifests',
    'examples/kubernetes',
    'examples/vllm',
    'examples/autoscaling',
    'examples/search/manifests',
    'examples/tutorial',
  ]
    .flatMap((folder) => filesIn(folder, '.yaml'))
    .map((path) => ({ where: path, text: readFileSync(join(root, path), 'utf8') })),
  ...['README.md', ...filesIn('docs', '.md')].flatMap((page) =>
    blocksOf(page).map((text, index) => ({ where: `${page}, block ${index + 1}`, text })),
  ),
];

// The examples have kinds of other projects, too.
beforeAll(() =>
  installCrds(kubernetes, foreignCrdFolder, [
    ...['inferencepools.yaml', 'httproutes.yaml', 'servicemonitors.yaml', 'scaledobjects.yaml'],
  ]),
);

test('there are manifests in the examples and in the pages', () => {
  expect(shown.map(({ where }) => where)).toEqual(
    expect.arrayContaining([
      'examples/manifests/models.yaml',
      'examples/kubernetes/vllm.yaml',
      'examples/kubernetes/inference-pool.yaml',
      'docs/how-to/install.md, block 1',
    ]),
  );
});

test.each(shown)('kubectl takes $where', async ({ text }) => {
  const namespace = await makeNamespace(kubernetes);
  expect(await kubectl(kubernetes, ['apply', '-n', namespace, '-f', '-'], text)).toMatchObject({ code: 0, stderr: '' });
});

/** Every list of a value, by its path. */
function* listsIn(value: unknown, path = ''): Generator<readonly [path: string, list: readonly unknown[]]> {
  if (Array.isArray(value)) yield [path, value];
  else if (isObject(value)) for (const [key, inner] of Object.entries(value)) yield* listsIn(inner, `${path}.${key}`);
}

// Argo CD compares a list as a whole: one with a default that the API server has added differs from Git for ever.
test.each(shown)('the API server stores the lists of $where as they are', async ({ text }) => {
  const namespace = await makeNamespace(kubernetes);
  const applied = await kubectl(kubernetes, ['apply', '-n', namespace, '-o', 'json', '-f', '-'], text);
  const answer: unknown = JSON.parse(applied.stdout);
  const stored =
    isObject(answer) && Array.isArray(answer['items']) ? (answer['items'] as readonly unknown[]) : [answer];
  const ours = parseAllDocuments(text, { version: '1.1' })
    .map((document): unknown => document.toJS())
    .filter((object) => isObject(object) && object['apiVersion'] === 'weir.dev/v1alpha1');
  const keyOf = (object: unknown): string =>
    isObject(object) && isObject(object['metadata'])
      ? `${String(object['kind'])}/${String(object['metadata']['name'])}`
      : '';
  for (const object of ours) {
    const found = stored.find((one) => keyOf(one) === keyOf(object));
    const specOf = (one: unknown): unknown => (isObject(one) ? one['spec'] : undefined);
    const kept = new Map(listsIn(specOf(found)));
    for (const [path, list] of listsIn(specOf(object))) expect(kept.get(path), `${keyOf(object)}${path}`).toEqual(list);
  }
});

test.each(shown)('a manifest folder takes $where', ({ text }) => {
  const objects = parseAllDocuments(text).map((document): unknown => document.toJS());
  const ours = objects.filter((object) => isObject(object) && object['apiVersion'] === 'weir.dev/v1alpha1');
  expect(ours.flatMap((value) => checkObject({ where: 'x', value }))).toEqual([]);
});
