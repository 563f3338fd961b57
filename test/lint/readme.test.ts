import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blockProblems, readmeRows, readmeText } from '../support/readme-blocks.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Three minutes at 165 words a minute. */
const maxSpokenWords = 495;
const maxLines = 120;

/** What a person reads aloud: no blocks, no pictures, no addresses, no rules of tables. */
function spokenWords(page: string): number {
  const spoken = page
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\]\([^)]*\)/g, '')
    .replaceAll(/^\|[-|]+\|$/gm, '');
  return spoken.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** The files to which a page links, from the root. */
function linksOf(page: string, text: string): readonly string[] {
  return [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) =>
    posix.join(posix.dirname(page), target),
  );
}

/** Figures of a table's row that none of the pages has to which the row links. */
function unknownFigures(row: string): readonly string[] {
  const pages = linksOf('README.md', row).map(read).join('\n');
  const [, ...cells] = row.split('|');
  const figures =
    cells
      .slice(1, 3)
      .join(' ')
      .match(/\d[\d.,]*\d|\d/g) ?? [];
  return figures.filter(
    (figure) => !new RegExp(String.raw`(?<![\d.,])${RegExp.escape(figure)}(?![\d]|[.,]\d)`).test(pages),
  );
}

describe('README.md', () => {
  it('is short, and is read aloud within three minutes', () => {
    expect(readmeText().split('\n').length - 1).toBeLessThanOrEqual(maxLines);
    expect(spokenWords(readmeText())).toBeLessThanOrEqual(maxSpokenWords);
  });

  it('moves without scripts, in less than 500 kB, and not for those who want no motion', () => {
    const [, picture = ''] = /\((docs\/pictures\/failover\.svg)\)/.exec(readmeText()) ?? [];
    const svg = read(picture);
    expect(svg.length).toBeLessThan(500_000);
    expect(svg).not.toMatch(/<script|<foreignObject|href=|\son\w+=/);
    expect(svg).toContain('@media (prefers-reduced-motion:reduce){*{animation:none!important}}');
  });

  it('has no block that no test runs', () => {
    expect(blockProblems(readmeText(), readmeRows)).toEqual([]);
    for (const [name, { runBy }] of Object.entries(readmeRows)) expect(read(runBy)).toContain(`readmeBlock('${name}')`);
  });

  it.each([
    ['a new block', (page: string) => `${page}\n\`\`\`sh\nnpm run surprise\n\`\`\`\n`],
    ['a block of another section', (page: string) => page.replace('## Kubernetes', '## Clusters')],
    ['a block that is gone', (page: string) => page.replace(/^```sh\ncurl[^]*?^```$/m, '')],
  ])('is refused with %s', (_, change) => {
    expect(blockProblems(change(readmeText()), readmeRows)).not.toEqual([]);
  });

  const rows = readmeText()
    .split('\n')
    .filter((line) => /^\|.*\]\(docs\//.test(line));

  it('has five figures, each with its page', () => {
    expect(rows).toHaveLength(5);
  });

  it.each(rows)('has figures that are on their page: %s', (row) => {
    expect(unknownFigures(row)).toEqual([]);
  });
});

/** Pages that docs/README.md lists through another one: a decision. */
const isListedElsewhere = (path: string): boolean => /^docs\/decisions\/\d/.test(path);

function pages(): readonly string[] {
  const found = globSync('{*,docs/**/*,charts/**/*,examples/**/*,test/*/*}.md', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  return found.filter((path) => path !== 'docs/README.md' && !isListedElsewhere(path)).toSorted();
}

it('a figure that is not on its page is found', () => {
  expect(unknownFigures('| first byte | 16 ms; 16.25 ms | 2.6 ms | ([bench.md](docs/lab/bench.md)) |')).toEqual([
    '16.25',
  ]);
});

describe('docs/README.md', () => {
  const items = read('docs/README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '));

  it('lists every page once, on a line of its own', () => {
    expect(pages()).toEqual(
      expect.arrayContaining(['docs/how-to/install.md', 'docs/reference/api.md', 'charts/weir/README.md']),
    );
    const listed = items.map((line) => linksOf('docs/README.md', line));
    expect(listed.filter((links) => links.length !== 1)).toEqual([]);
    expect(listed.flat().toSorted()).toEqual(pages());
  });

  it('says of each page what it is about, within 120 columns', () => {
    expect(items.filter((line) => line.length > 120 || !/^- \[[^\]]+\]\([^)]+\): \S/.test(line))).toEqual([]);
  });
});
