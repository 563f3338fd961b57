/** The site: VitePress with its default theme. Pages, their order and their links: scripts/site-contents.ts. */
import { cpSync, globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { anchorOf, siteFiles, siteLink, sitePages, siteSections } from '../../scripts/site-contents.ts';

const root = join(import.meta.dirname, '..', '..');
const pages = sitePages();
/** Set where the site is published: the address of the sources, such as `https://HOST/OWNER/NAME/blob/COMMIT`. */
const sources = process.env['SITE_SOURCES'];
/** Pages of the repository that the site does not have: what tests read, and the READMEs of folders. */
const excluded = globSync('**/*.md', { cwd: root, exclude: (name) => /^(?:node_modules|\.git)$/.test(name) }).filter(
  (file) => !pages.has(file),
);
const link = (place: string): string => `/${place.replace(/(?:index)?\.md$/, '')}`;

export default defineConfig({
  title: 'Weir',
  description:
    'A Kubernetes-native inference gateway: one bill, no visible failures, in front of language-model servers.',
  lang: 'en',
  base: process.env['SITE_BASE'] ?? '/',
  cleanUrls: false,
  // Some pages lie outside docs, such as CHANGELOG.md.
  srcDir: root,
  srcExclude: excluded,
  outDir: join(import.meta.dirname, 'dist'),
  cacheDir: join(import.meta.dirname, 'cache'),
  buildEnd({ outDir }) {
    for (const [file, place] of siteFiles) cpSync(join(root, file), join(outDir, place));
  },
  rewrites: (file) => pages.get(file) ?? file,
  markdown: {
    // A page speaks of `:name:` and of `{a: 1}` as they stand.
    attrs: { disable: true },
    emoji: { enabled: [] },
    anchor: { slugify: anchorOf },
    config(md) {
      // Pages speak of templates of others, such as `{{.Values.image}}`, and Vue would fill them in.
      for (const kind of ['text', 'code_inline'] as const) {
        const write = md.renderer.rules[kind];
        md.renderer.rules[kind] = (...parts) => (write?.(...parts) ?? '').replaceAll('{{', '&#123;&#123;');
      }
      md.core.ruler.push('site-links', ({ tokens, env }) => {
        const { realPath, path } = env as { readonly realPath?: string; readonly path: string };
        const file = relative(root, realPath ?? path);
        for (const { children } of tokens) {
          const open: boolean[] = [];
          for (const token of children ?? []) {
            if (token.type === 'link_close' && open.pop() === false) token.hidden = true;
            if (token.type !== 'link_open') continue;
            const href = siteLink(token.attrGet('href') ?? '', { file, pages, sources });
            open.push(href !== undefined);
            if (href === undefined) [token.type, token.hidden] = ['text', true];
            else token.attrSet('href', href);
          }
        }
      });
    },
  },
  vite: {
    plugins: [
      {
        name: 'packages-of-docs',
        enforce: 'pre',
        /** Pages outside docs, which VitePress compiles into Vue components, find Vue here, too. */
        resolveId(id, importer) {
          const isOutside = importer !== undefined && !importer.startsWith(join(root, 'docs'));
          return isOutside && /^vue(?:\/|$)/.test(id) ? this.resolve(id, import.meta.filename) : undefined;
        },
      },
    ],
    ssr: { external: ['vue', '@vue/server-renderer'] },
    build: { chunkSizeWarningLimit: 4000 },
  },
  themeConfig: {
    nav: siteSections().map(({ title, pages: [first] }) => ({ text: title, link: link(first?.place ?? '') })),
    sidebar: siteSections().map(({ title, pages: listed }) => ({
      text: title,
      collapsed: true,
      items: listed.map((page) => ({ text: page.title, link: link(page.place) })),
    })),
    outline: 'deep',
    search: { provider: 'local' },
  },
});
