/** What the site has, in which order: docs/README.md lists its pages. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const root = join(import.meta.dirname, '..');
const contentsPage = 'docs/README.md';

/** A page of the site. */
export interface SitePage {
  readonly title: string;
  /** Markdown file, from the root of the repository. */
  readonly file: string;
  /** Its place in the site, with the folder of its section. */
  readonly place: string;
}

export interface SiteSection {
  readonly title: string;
  readonly pages: readonly SitePage[];
}

/** The anchor of a heading, as forges make it. The site has the same ones, so a link works in both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** A page below docs keeps its place. Others, such as CHANGELOG.md, get one in the section that lists them. */
function placeOf(file: string, title: string, section: string): string {
  if (file.startsWith('docs/')) return file.slice('docs/'.length).replace(/README\.md$/, 'index.md');
  return `${anchorOf(section)}/${anchorOf(title)}.md`;
}

/** The sections that docs/README.md has, each with its pages. */
export function siteSections(text = readFileSync(join(root, contentsPage), 'utf8')): readonly SiteSection[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [title = ''] = part.split('\n', 1);
      const items = [...part.matchAll(/^- \[([^\]]+)\]\(([^)#]+)\): /gm)];
      const pages = items.map(([, name = '', link = '']) => {
        const file = posix.normalize(posix.join('docs', link));
        return { title: name, file, place: placeOf(file, name, title) };
      });
      return { title, pages };
    });
}

/** Files that readers download from the site, by their place. */
export const siteFiles: ReadonlyMap<string, string> = new Map([
  ['docs/reference/openapi.json', 'reference/openapi.json'],
]);

/** Every page of the site by its file: the contents, what they list, and the decisions, which have a list of their own. */
export function sitePages(): ReadonlyMap<string, string> {
  const decisions = globSync('docs/decisions/[0-9]*.md', { cwd: root }).map((file) => [
    file,
    file.slice('docs/'.length),
  ]);
  const listed = siteSections().flatMap(({ pages }) => pages.map(({ file, place }) => [file, place]));
  return new Map([[contentsPage, 'index.md'], ...listed, ...decisions] as [string, string][]);
}

/**
 * Where a link of a page leads in the site. What is no page of the site leads to the repository, at `sources`, its address up
 * to the path of a file; without one there is no such link, which is `undefined`.
 */
export function siteLink(
  url: string,
  { file, pages, sources }: { file: string; pages: ReadonlyMap<string, string>; sources: string | undefined },
): string | undefined {
  if (/^[a-z]+:|^#|^\//.test(url)) return url;
  const [path = '', anchor] = url.split('#');
  const target = posix.normalize(posix.join(posix.dirname(file), path));
  const place = pages.get(target) ?? siteFiles.get(target);
  const end = anchor === undefined ? '' : `#${anchor}`;
  if (place !== undefined) return `/${place}${end}`;
  return sources === undefined ? undefined : `${sources}/${target.replace(/\/$/, '')}${end}`;
}
