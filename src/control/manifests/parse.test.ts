import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseManifest, yamlFaults } from './parse.ts';

const two = `# Models
kind: A
spec:
  routes:
  - backend: x
  -
    backend: y
---
---
kind: B
`;

/** What the entries say: where an object is, or the problem. */
function told(text: string): readonly unknown[] {
  return [...parseManifest('f.yaml', text)].map((entry) =>
    entry.kind === 'object' ? entry.object.where : entry.problem,
  );
}

function lineOf(text: string, path: readonly PropertyKey[]): number | undefined {
  const [entry] = parseManifest('f.yaml', text);
  return entry?.kind === 'object' ? entry.object.lineOf?.(path) : undefined;
}

test('names a document by its place in the file, and passes over empty ones', () => {
  expect(told(two)).toEqual(['f.yaml#1', 'f.yaml#3']);
  expect(told('kind: A\n---\n')).toEqual(['f.yaml']);
  expect(told('')).toEqual([]);
  expect(told('# only a comment\n')).toEqual([]);
});

test.each([
  [['kind'], 2],
  [['spec', 'routes'], 4],
  [['spec', 'routes', 0, 'backend'], 5],
  [['spec', 'routes', 1, 'backend'], 7],
  [['spec', 'routes', 1, 'weight'], 7],
  [['spec', 'missing', 'deeper'], 3],
  [['metadata'], 2],
  [[], 2],
])('knows the line of %j, or of what is around it', (path, line) => {
  expect(lineOf(two, path)).toBe(line);
});

test('knows lines of a later document', () => {
  const [, entry] = parseManifest('f.yaml', two);
  expect(entry?.kind === 'object' && entry.object.lineOf?.(['kind'])).toBe(10);
});

test('reads directives, document ends and Windows line ends', () => {
  expect(told('%YAML 1.2\r\n---\r\nkind: A\r\n...\r\n--- # next\r\nkind: B\r\n')).toEqual(['f.yaml#1', 'f.yaml#2']);
  expect(told('--- {kind: A}\n---x: 1\n')).toEqual([expect.objectContaining({ where: 'f.yaml:2' })]);
  expect(told('kind: A\n...\nkind: B\n')).toEqual([
    { where: 'f.yaml:3', field: 'kind', message: yamlFaults.MULTIPLE_DOCS },
  ]);
});

test('reads JSON with tabs, and anchors with merge keys', () => {
  const values = (text: string): unknown =>
    [...parseManifest('f', text)].map((entry) => (entry.kind === 'object' ? entry.object.value : entry));
  expect(values('{\n\t"kind": "A",\n\t"spec": {"weight": 1e2}\n}')).toEqual([{ kind: 'A', spec: { weight: 100 } }]);
  expect(values('a: &a {x: 1}\nb:\n  <<: *a\n  y: 2')).toEqual([{ a: { x: 1 }, b: { x: 1, y: 2 } }]);
  expect(values('mode: Off\nadded: 2026-06-01T00:00:00Z\nprice: "0.1"')).toEqual([
    { mode: 'Off', added: '2026-06-01T00:00:00Z', price: '0.1' },
  ]);
});

test.each([
  ['a quote left open', 'kind: A\nspec:\n  id: "sk-canary\n', 'f.yaml:4', 'spec.id', yamlFaults.MISSING_CHAR],
  ['a field given twice', 'spec:\n  id: 1\n  id: sk-canary\n', 'f.yaml:3', 'spec.id', yamlFaults.DUPLICATE_KEY],
  ['indentation by tab', 'spec:\n\tid: sk-canary\n', 'f.yaml:2', 'spec', yamlFaults.TAB_AS_INDENT],
  ['an alias of nothing', 'spec:\n  a: 1\n  id: *sk-canary\n', 'f.yaml:3', 'spec.id', yamlFaults.BAD_ALIAS],
  ['a tag of its own', 'spec:\n  id: !sk-canary x\n', 'f.yaml:2', 'spec.id', yamlFaults.TAG_RESOLVE_FAILED],
  ['a list that is not closed', '{"spec": [sk-canary', 'f.yaml:1', 'spec[0]', yamlFaults.BAD_INDENT],
  [
    'the second of two documents',
    'kind: A\n---\nspec:\n- a\n- b: "\n',
    'f.yaml#2:6',
    'spec[1].b',
    yamlFaults.MISSING_CHAR,
  ],
])('names line and field of a syntax error, and quotes nothing: %s', (_about, text, where, field, message) => {
  const problems = [...parseManifest('f.yaml', text)].flatMap((entry) =>
    entry.kind === 'broken' ? [entry.problem] : [],
  );
  expect(problems).toEqual([{ where, field, message }]);
  expect(JSON.stringify(problems)).not.toContain('canary');
});

test.each([
  ['nesting without end', '['.repeat(50_000)],
  ['nested groups without end', `${'{a: '.repeat(30_000)}1`],
  [
    'aliases that multiply',
    `a: &a [${'x,'.repeat(50)}]\n${Array.from({ length: 9 }, (_, i) => `${'bcdefghij'[i]}: &${'bcdefghij'[i]} [${`*${'abcdefghi'[i]},`.repeat(9)}]`).join('\n')}`,
  ],
])('refuses %s, and does not throw', (_about, text) => {
  const entries = [...parseManifest('f.yaml', text)];
  expect(entries.map(({ kind }) => kind)).toEqual(['broken']);
});

test.each([
  ['nesting', '['.repeat(100), 'f.yaml', 'expected less nesting: at most 64 levels'],
  ['nesting on one line', '- '.repeat(100), 'f.yaml', 'expected less nesting: at most 64 levels'],
  ['words', 'a: 1\n'.repeat(20_000), 'f.yaml', 'expected at most 40000 words, marks and lines in a document'],
  ['values', `[${'1,'.repeat(12_000)}]`, 'f.yaml:1', 'expected at most 10000 values in a document'],
])('says which limit a document has passed: %s', (_about, text, where, message) => {
  expect(told(text)).toEqual([{ where, field: '', message }]);
});

test('takes so many documents of a file, and says that there are more', () => {
  const parsed = told('---\nkind: A\n'.repeat(2001));
  expect(parsed).toHaveLength(2001);
  expect(parsed.at(-1)).toMatchObject({ where: 'f.yaml', message: 'expected at most 2000 documents, split the file' });
});

test('never throws, whatever the text', () => {
  const pieces = fc.constantFrom(
    'a',
    ': ',
    '\n',
    '  ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '&x',
    '*x',
    '!t',
    '---\n',
    '#',
    '\t',
    '%',
    '<<',
    '\0',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      for (const entry of parseManifest('f.yaml', parts.join(''))) {
        if (entry.kind === 'object') entry.object.lineOf?.(['a', 0, 'a']);
      }
    }),
    { numRuns: 2000 },
  );
});
