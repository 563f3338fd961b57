/** What comments, messages and pages refer to: documents, their sections, and decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { anchorOf } from '../../scripts/site-contents.ts';

const folders = ['.github', 'bench', 'bin', 'charts', 'docs', 'envoy', 'examples', 'scripts', 'src', 'test'];
const kinds = new Set(['.css', '.js', '.md', '.mjs', '.sh', '.tpl', '.ts', '.txt', '.yaml', '.yml']);
/** Prompts and answers that say anything at all, what other projects have written, and the test that plants mistakes. */
const foreign = /^test\/(?:golden|engine\/tokenizers|kube\/foreign-crds|lint\/references\.test\.ts)(?:\/|$)/;

/** Every text of the repository that a person has written, from its root. */
export function writtenFiles(root: string): readonly string[] {
  const pages = readdirSync(root).filter((name) => extname(name) === '.md' || name === 'Dockerfile');
  const below = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && kinds.has(extname(entry.name)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return [...pages, ...below]
    .filter((path) => !foreign.test(path) && !/node_modules\/|^docs\/\.vitepress\/(?!config)/.test(path))
    .sort();
}

/** Sections of a page by their numbers, each with the numbers of its rules. */
type Sections = ReadonlyMap<string, ReadonlySet<string>>;

const markdown = (text: string): string => text.replaceAll(/^```[^]*?^```/gm, '');

/** Reads the numbered headings of a page, and the numbered items below each. */
function sectionsOf(page: string): Sections {
  const sections = new Map<string, Set<string>>();
  let rules = new Set<string>();
  for (const line of markdown(page).split('\n')) {
    const [, section] = /^#+ (\d+(?:\.\d+)*)\.? /.exec(line) ?? [];
    if (section !== undefined) sections.set(section, (rules = new Set()));
    const [, rule] = /^(\d+)\. /.exec(line) ?? [];
    if (rule !== undefined) rules.add(rule);
  }
  return sections;
}

/** The names by which a link may point into a page, as forges make them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...markdown(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(headings.map((heading) => anchorOf(heading)));
}

/** Pages with numbered sections, which comments name by `§`. */
const numberedPages: Readonly<Record<string, string>> = {
  api: 'docs/reference/api.md',
  endpoints: 'docs/reference/endpoints.md',
  engines: 'docs/reference/engines.md',
  architecture: 'docs/concepts/architecture.md',
  settlement: 'docs/concepts/settlement.md',
};
/** Pages whose rows are about the sections of another one. */
const aboutPages: Readonly<Record<string, string>> = { 'docs/lab/engines-tried.md': 'docs/reference/engines.md' };

const mark = String.raw`§\d+(?:\.\d+)*(?:, rule \d+)?`;
const marks = String.raw`${mark}(?:(?:,| to| and)? ${mark})*`;
const ours = new RegExp(
  String.raw`(?:docs/(?:reference|concepts)/)?\b(api|architecture|endpoints|engines|settlement)\.md (${marks})`,
  'g',
);
const standards = [
  String.raw`RFC \d+`,
  'WHATWG HTML',
  String.raw`NIST SP [\w-]+`,
  String.raw`JSON Schema (?:draft )?[\d-]+`,
  String.raw`YAML [\d.]+`,
];
const theirs = new RegExp(String.raw`(?:${standards.join('|')}) (?:${marks})`, 'g');

/** What a file refers to that is not there, a sentence each. */
export function danglingReferences(
  path: string,
  root: string,
  text = readFileSync(join(root, path), 'utf8'),
): string[] {
  // A reference may go on in the next line of a comment.
  const flat = text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|#+)?[ \t]*/g, ' ');
  const read = (name: string): string => readFileSync(join(root, numberedPages[name] ?? ''), 'utf8');
  const found: string[] = [];

  function look(page: string, references: string): void {
    const sections = sectionsOf(read(page));
    for (const [, section = '', rule] of references.matchAll(/§(\d+(?:\.\d+)*)(?:, rule (\d+))?/g)) {
      const rules = sections.get(section);
      if (rules === undefined) found.push(`${page}.md has no §${section}`);
      else if (rule !== undefined && !rules.has(rule)) found.push(`${page}.md §${section} has no rule ${rule}`);
    }
  }

  const rest = flat
    .replaceAll(ours, (_, page: string, references: string) => {
      look(page, references);
      return '';
    })
    .replaceAll(theirs, '');
  const [own] = Object.entries(numberedPages).find(([, page]) => page === (aboutPages[path] ?? path)) ?? [];
  // On its own page a section needs no name before it.
  if (own !== undefined) look(own, rest);
  else for (const [reference = ''] of rest.matchAll(/.{0,24}§\d[\d.]*/g)) found.push(`a section of what? ${reference}`);

  for (const [, number = ''] of flat.matchAll(/\bdecisions? (\d{4})\b/g)) {
    const isThere = readdirSync(join(root, 'docs', 'decisions')).some((name) => name.startsWith(`${number}-`));
    if (!isThere) found.push(`there is no decision ${number}`);
  }
  found.push(...(extname(path) === '.md' ? brokenLinks(path, root, text) : missingPages(path, root, text)));
  return found;
}

/** Pages that code names: with their folder wherever that is, alone in comments. What else ends in `.md` is a test's own file. */
function missingPages(path: string, root: string, text: string): readonly string[] {
  const named = text.split('\n').flatMap((line) => {
    const isComment = /^\s*(?:\/\/|\/?\*|#)/.test(line);
    const names = [...line.matchAll(/(?<![\w./:-])(?:[\w.-]+\/)*[\w-]+\.md\b/g)].map(([name]) => name);
    return names.filter((name) => isComment || name.startsWith('docs/'));
  });
  const places = (name: string): readonly string[] => [join(root, name), join(root, dirname(path), name)];
  return named.filter((name) => !places(name).some((place) => existsSync(place))).map((name) => `there is no ${name}`);
}

/** Links of a page to files or headings that are not there. */
function brokenLinks(path: string, root: string, text: string): readonly string[] {
  const targets = [...markdown(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const place = file === '' ? join(root, path) : join(root, dirname(path), file);
      if (!existsSync(place)) return true;
      return anchor !== undefined && extname(place) === '.md' && !anchorsOf(readFileSync(place, 'utf8')).has(anchor);
    })
    .map((target) => `the link ${target} leads nowhere`);
}
