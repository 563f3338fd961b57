import { marked, type Token, type Tokens } from 'marked';
import type { Plugin } from 'vite';

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** A link to another page is its text: the pages of docs have no address in the portal. */
marked.use({
  renderer: {
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return /^https?:/.test(href) ? `<a href="${href}">${text}</a>` : text;
    },
    image: () => '',
  },
});

/** A row whose first cell is a name in code, as a list of the other cells. */
function rowOf({ header, rows }: Tokens.Table, index: number): readonly [string, string] | undefined {
  const cells = rows[index] ?? [];
  const [, name] = /^`([\w-]+)`$/.exec(cells[0]?.text ?? '') ?? [];
  if (name === undefined) return undefined;
  const items = cells.slice(1).map((cell, at) => {
    const title = marked.parseInline(header[at + 1]?.text ?? '', { async: false });
    return `<dt>${title}</dt><dd>${marked.parseInline(cell.text, { async: false })}</dd>`;
  });
  return [name, `<dl>${items.join('')}</dl>`];
}

/**
 * The sections of a page of docs as HTML, by their anchors: `causes`. Rows of tables are sections as well:
 * `causes/no-quota`. Lower headings are part of their section.
 */
export function sectionsOf(page: string): Readonly<Record<string, string>> {
  const tokens = marked.lexer(page.replaceAll(/<!--.*?-->/gs, ''));
  const sections: Record<string, string> = {};
  const isAbove = (token: Token | undefined, depth: number): boolean =>
    token?.type === 'heading' && Number(token['depth']) <= depth;
  for (const [at, token] of tokens.entries()) {
    if (token.type !== 'heading' || token['depth'] === 1) continue;
    const { text, depth } = token as Tokens.Heading;
    const end = tokens.findIndex((other, index) => index > at && isAbove(other, depth));
    const own = tokens.slice(at + 1, end === -1 ? undefined : end);
    const anchor = anchorOf(text);
    sections[anchor] = marked.parser(own);
    for (const table of own) {
      if (table.type !== 'table') continue;
      const { rows } = table as Tokens.Table;
      for (const index of rows.keys()) {
        const [name, html] = rowOf(table as Tokens.Table, index) ?? [];
        if (name !== undefined && html !== undefined) sections[`${anchor}/${name}`] = html;
      }
    }
  }
  return sections;
}

/** An element as its name, its address where it is a link, and its children; or a text. */
type Node = string | readonly [name: string, href: string | null, children: readonly Node[]];

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The HTML that the renderer writes, as a tree: the policy of the pages allows no HTML that comes as a text. */
export function treeOf(html: string): readonly Node[] {
  const open: { readonly name: string; readonly href: string | null; readonly children: Node[] }[] = [];
  const top: Node[] = [];
  for (const [, close, name, attributes = '', text] of html.matchAll(/<(\/?)(\w+)([^>]*)>|([^<]+)/g)) {
    const into = open.at(-1)?.children ?? top;
    if (text !== undefined) into.push(text.replaceAll(/&(#?\w+);/g, (whole, entity) => entities[entity] ?? whole));
    else if (name === 'br' || name === 'hr') into.push([name, null, []]);
    else if (close === '')
      open.push({ name: name ?? '', href: /href="([^"]*)"/.exec(attributes)?.[1] ?? null, children: [] });
    else {
      const ended = open.pop();
      if (ended !== undefined) (open.at(-1)?.children ?? top).push([ended.name, ended.href, ended.children]);
    }
  }
  return top;
}

const treesOf = (page: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(sectionsOf(page)).map(([anchor, html]) => [anchor, treeOf(html)])));

/** Renders pages of docs at build time, so that the portal needs neither a network nor a parser for them. */
export function docsSections(): Plugin {
  return {
    name: 'docs-sections',
    transform: (text, id) =>
      id.endsWith('.md') ? { code: `export const sections = ${treesOf(text)};`, map: null } : undefined,
  };
}
