import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { anchorOf, siteLink, sitePages, siteSections } from '../../scripts/site-contents.ts';

const root = join(import.meta.dirname, '..', '..');
const pages = sitePages();

it('the site has six sections, each page in one place', () => {
  expect(siteSections().map(({ title }) => title)).toEqual([
    ...['Start', 'How to', 'Operate', 'Reference', 'Concepts', 'Lab'],
  ]);
  expect([...pages.keys()].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(new Set(pages.values()).size).toBe(pages.size);
  const folders = new Set([...pages.values()].map((place) => place.split('/').slice(0, -1).join('/')));
  expect([...folders].toSorted()).toEqual([
    ...['', 'concepts', 'decisions', 'how-to', 'lab', 'operate', 'reference', 'start'],
  ]);
});

it('a page outside docs has a place in the section that lists it', () => {
  const text =
    '# Weir\n\n## How to\n\n- [Chart values](../charts/weir/README.md): all\n- [vLLM](how-to/vllm.md): flags\n';
  expect(siteSections(text)).toEqual([
    {
      title: 'How to',
      pages: [
        { title: 'Chart values', file: 'charts/weir/README.md', place: 'how-to/chart-values.md' },
        { title: 'vLLM', file: 'docs/how-to/vllm.md', place: 'how-to/vllm.md' },
      ],
    },
  ]);
});

it.each([
  ['a page', '../reference/api.md#5-keys', '/reference/api.md#5-keys'],
  ['a page outside docs', '../../CHANGELOG.md', '/operate/changelog.md'],
  ['a list of pages', '../decisions/README.md', '/decisions/index.md'],
  ['a heading', '#many-cores', '#many-cores'],
  ['another site', 'https://example.com/a.md', 'https://example.com/a.md'],
  ['a file of the repository', '../../Dockerfile', 'https://example.com/weir/Dockerfile'],
  ['a folder of the repository', '../../examples/vllm/', 'https://example.com/weir/examples/vllm'],
])('the site links to %s', (_, url, expected) => {
  const sources = 'https://example.com/weir';
  expect(siteLink(url, { file: 'docs/how-to/install.md', pages, sources })).toBe(expected);
});

it('the site has no link to a file where the address of the sources is not known', () => {
  const file = 'docs/how-to/install.md';
  expect(siteLink('../../Dockerfile', { file, pages, sources: undefined })).toBeUndefined();
});

it('anchors are those of forges', () => {
  expect(anchorOf('4.1.1 Reasoning, `on` and off')).toBe('411-reasoning-on-and-off');
});
