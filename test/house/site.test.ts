// @suite long
// The site as `npm run docs` builds it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { sitePages, siteSections } from '../../scripts/site-contents.ts';

const root = join(import.meta.dirname, '..', '..');
const out = mkdtempSync(join(tmpdir(), 'weir-site-'));
afterAll(() => rmSync(out, { recursive: true }));

const built = spawnSync('npm', ['run', '--silent', 'docs', '--', '--outDir', out], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, SITE_SOURCES: 'https://example.com/weir' },
});

const htmlOf = (place: string): string => readFileSync(join(out, place.replace(/\.md$/, '.html')), 'utf8');
const linksOf = (html: string): ReadonlySet<string> =>
  new Set(
    [...html.matchAll(/href="\/([^"#]*)/g)].map(([, link = '']) =>
      link.replace(/(?:^|\/)$/, (end) => `${end}index.html`),
    ),
  );

test('is built without a warning', () => {
  const said = `${built.stdout}${built.stderr}`;
  expect(built.status, said).toBe(0);
  expect(said.split('\n').filter((line) => /warn|\(!\)|dead link|error/i.test(line))).toEqual([]);
});

test('has every page, with its picture files', () => {
  for (const place of sitePages().values()) {
    const html = htmlOf(place);
    expect(html).toContain('<h1');
    const pictures = [...html.matchAll(/<img src="\/([^"]+)"/g)].map(([, path = '']) => path);
    expect(pictures.filter((path) => !existsSync(join(out, path)))).toEqual([]);
  }
});

test('lists every page beside each page', () => {
  const listed = linksOf(htmlOf('start/compare.md'));
  const wanted = siteSections().flatMap(({ pages }) => pages.map(({ place }) => place.replace(/\.md$/, '.html')));
  expect(wanted.length).toBeGreaterThan(60);
  expect(wanted.filter((place) => !listed.has(place))).toEqual([]);
});

test('has every page within two clicks from the first one', () => {
  const first = linksOf(htmlOf('index.md'));
  const pages = [...first].filter((link) => existsSync(join(out, link)) && link.endsWith('.html'));
  const second = new Set(pages.flatMap((link) => [...linksOf(htmlOf(link))]));
  const places = [...sitePages().values()].map((place) => place.replace(/\.md$/, '.html'));
  expect(places.filter((place) => place !== 'index.html' && !first.has(place) && !second.has(place))).toEqual([]);
});

interface Index {
  search: (words: string, options: object) => readonly { readonly id: string }[];
}

test.each([
  ['failover', 'concepts/failover'],
  ['hedge', 'concepts/failover'],
  ['budget', 'how-to/accounts'],
  ['ServiceAccount', 'how-to/identities'],
  ['KEDA', 'how-to/autoscaling'],
  ['FOCUS', 'how-to/statements'],
  ['pgvector', 'how-to/example-search'],
  ['PgBouncer', 'operate/poolers'],
  ['rate_limited', 'operate/troubleshooting'],
  ['backup', 'operate/backup'],
  ['LiteLLM', 'how-to/from-litellm'],
  ['retireAt', 'how-to/kubernetes'],
])('finds "%s" among the first results of its search', async (word, page) => {
  const folder = join(out, 'assets', 'chunks');
  const file = readdirSync(folder).find((name) => name.startsWith('@localSearchIndexroot')) ?? '';
  const { default: json } = (await import(join(folder, file))) as { readonly default: string };
  const MiniSearch = createRequire(join(root, 'docs', 'package.json'))('minisearch') as {
    readonly loadJSON: (text: string, options: object) => Index;
  };
  // What VitePress's own search box sets.
  const index = MiniSearch.loadJSON(json, { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] });
  const found = index.search(word, { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } });
  expect(found.slice(0, 10).map(({ id }) => id.replace(/^\/|(?:\.html)?(?:#.*)?$/g, ''))).toContain(page);
});
