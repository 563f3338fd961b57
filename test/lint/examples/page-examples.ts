/** The examples of the pages: fenced blocks, and the code inside sentences. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Example {
  readonly page: string;
  readonly line: number;
  /** `span`: code inside a sentence. `other`: no command and no form of ours, such as a program. */
  readonly kind: 'shell' | 'yaml' | 'json' | 'span' | 'other';
  readonly text: string;
}

const notes = 'charts/weir/templates/NOTES.txt';

/** Every page and manifest that a reader is given, but for the changelog: it speaks of what was. */
export function examplePages(root: string): readonly string[] {
  const below = (folder: string): readonly string[] =>
    globSync(`${folder}/**/*.{md,yaml}`, { cwd: root, exclude: ['**/node_modules/**'] });
  return [
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'charts/weir/README.md', notes],
    'test/programmable-engine/README.md',
    ...below('docs').filter((path) => path.endsWith('.md')),
    ...below('examples').filter((path) => /\/README\.md$|^examples\/kubernetes\/.*\.yaml$/.test(path)),
  ].toSorted();
}

/** Languages of fenced blocks. A block in a language that is not here is an error: nothing would check it. */
const kinds: Readonly<Record<string, Example['kind']>> = {
  sh: 'shell',
  yaml: 'yaml',
  json: 'json',
  // What a terminal shows: commands behind a `$`, or a line of usage.
  '': 'shell',
  ...{ js: 'other', ts: 'other', text: 'other', toml: 'other', markdown: 'other' },
};

export function examplesOf(page: string, root: string): readonly Example[] {
  const text = readFileSync(join(root, page), 'utf8');
  if (page.endsWith('.yaml')) return [{ page, line: 1, kind: 'yaml', text }];
  return page === notes ? notesExamples(text) : markdownExamples(page, text);
}

export function markdownExamples(page: string, text: string): readonly Example[] {
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const blocks = [...text.matchAll(/^( *)```(\S*)[^\n]*\n([^]*?)^ *```/gm)];
  const fences = text.match(/^ *```/gm)?.length ?? 0;
  if (fences !== blocks.length * 2) throw new Error(`${page}: a block has no end`);
  const fenced = blocks.map(({ index, 1: indent = '', 2: language = '', 3: body = '' }): Example => {
    const kind = kinds[language];
    if (kind === undefined) throw new Error(`${page}:${lineAt(index)}: a block in "${language}", which is not checked`);
    const lines = body.split('\n').map((line) => line.replace(new RegExp(`^ {0,${indent.length}}`), ''));
    return { page, line: lineAt(index) + 1, kind, text: language === '' ? commandLines(lines) : lines.join('\n') };
  });
  // The blocks are blanked, so that the lines of the spans stay what they are.
  const sentences = blocks.reduce((left, { 0: block }) => left.replace(block, block.replaceAll(/[^\n]/g, ' ')), text);
  const spans = [...sentences.matchAll(/(`+)((?:(?!\n\n)[^])+?)\1/g)].map(({ index, 2: code = '' }): Example => ({
    page,
    line: lineAt(index),
    kind: 'span',
    text: code.trim(),
  }));
  return [...fenced, ...spans];
}

/** Of what a terminal shows, the commands. */
function commandLines(lines: readonly string[]): string {
  const prompted = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
  // Usage: what is in brackets may be left out.
  return prompted.length > 0 ? prompted.join('\n') : lines.join('\n').replaceAll(/[[\]]/g, '');
}

/** The commands of the notes that Helm prints: the lines that are indented, one block. */
function notesExamples(text: string): readonly Example[] {
  const lines = text.split('\n').map((line) => (line.startsWith('   ') ? withoutActions(line.slice(3)) : ''));
  return [{ page: notes, line: 1, kind: 'shell', text: lines.join('\n') }];
}

/** What a template makes of a line, roughly: the first text of an action, `x` for another value, nothing for a condition. */
function withoutActions(line: string): string {
  return line
    .replaceAll(/\{\{-? *(?:if|end|else)\b.*?\}\}/g, '')
    .replaceAll(/\{\{.*?\}\}/g, (action) =>
      /\$scheme/.test(action) ? 'http' : (/"([^"]*)"/.exec(action)?.[1] ?? 'x'),
    );
}
