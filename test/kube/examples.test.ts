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
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name));

/** Blocks of YAML in a page that are whole objects of ours. */
const blocksOf = (page: string): readonly string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)]
    .map(([, block = '']) => block)
    .filter((block) => /^apiVersion: weir\.dev\//m.test(block));

const shown = [
  ...['examples/manifests', 'examples/kubernetes', 'examples/vllm', 'examples/autoscaling']
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
      'docs/install.md, block 1',
    ]),
  );
});

test.each(shown)('kubectl takes $where', async ({ text }) => {
  const namespace = await makeNamespace(kubernetes);
  expect(await kubectl(kubernetes, ['apply', '-n', namespace, '-f', '-'], text)).toMatchObject({ code: 0, stderr: '' });
});

test.each(shown)('a manifest folder takes $where', ({ text }) => {
  const objects = parseAllDocuments(text).map((document): unknown => document.toJS());
  const ours = objects.filter((object) => isObject(object) && object['apiVersion'] === 'weir.dev/v1alpha1');
  expect(ours.flatMap((value) => checkObject({ where: 'x', value }))).toEqual([]);
});
