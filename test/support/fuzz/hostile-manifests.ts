const kilobyte = 1024;
const count = (many: number, item: (index: number) => string): string =>
  Array.from({ length: many }, (_, at) => item(at)).join('');
const head = 'apiVersion: weir.dev/v1alpha1\nkind: Model\nmetadata: {name: a}\n';
const letters = 'abcdefghij';

/** Manifest files that are no mistake of their author's, by what they hold. None gives an object to serve. */
export const hostileManifests: Readonly<Record<string, string>> = {
  '100 KB of [': '['.repeat(100 * kilobyte),
  '1 MB of [': '['.repeat(1024 * kilobyte),
  '100 KB of {': '{'.repeat(100 * kilobyte),
  'groups in groups': '{a: '.repeat(25 * kilobyte),
  'lists in lists on one line': '- '.repeat(50 * kilobyte),
  'lists in lists by indentation': count(650, (at) => `${' '.repeat(at)}- \n`),
  'nesting that closes': '['.repeat(10_000) + ']'.repeat(10_000),
  'a long flat list': `[${'a,'.repeat(100 * kilobyte)}]`,
  'many empty groups': `[${'{},'.repeat(80 * kilobyte)}]`,
  'many fields': count(25_000, (at) => `k${at}: 1\n`),
  'many fields of a Model': `${head}spec:\n${count(7000, (at) => `  k${at}: 1\n`)}`,
  'many routes with many faults': `${head}spec:\n  routes:\n${count(1500, () => '  - {x: 1}\n')}`,
  'a long text': `a: ${'x'.repeat(250 * kilobyte)}`,
  'a long text of escapes': `a: "${'\\n'.repeat(120 * kilobyte)}"`,
  'a folded text of blank lines': `a: >\n${'\n'.repeat(250 * kilobyte)}`,
  'comments alone, and a field': `${'#\n'.repeat(120 * kilobyte)}a: 1`,
  'blank lines': `${'\n'.repeat(250 * kilobyte)}a: 1`,
  'quotes, colons, question marks': count(3, (at) => `${`"':?`.charAt(at).repeat(80 * kilobyte)}\n`),
  'anchors without end': `[${count(20_000, (at) => `&a${at} x,`)}]`,
  'aliases without end': `[&a x,${'*a,'.repeat(60 * kilobyte)}]`,
  'aliases that multiply': `a: &a [${'x,'.repeat(50)}]\n${count(9, (at) => `${letters.charAt(at + 1)}: &${letters.charAt(at + 1)} [${`*${letters.charAt(at)},`.repeat(9)}]\n`)}`,
  'aliases of something large': `a: &a [${'x,'.repeat(5000)}]\nb: [${'*a,'.repeat(90)}]\n`,
  'merges without end': `a: &a {x: 1}\nb:\n${'  <<: *a\n'.repeat(25_000)}`,
  'directives without end': `${'%A b\n'.repeat(50_000)}---\na: 1`,
  'thousands of documents': '---\n{kind: A}\n'.repeat(20_000),
  'thousands of broken documents': '---\n[\n'.repeat(100_000),
  'documents of many fields': count(12, (part) => `---\n${count(7000, (at) => `k${part}${at}: 1\n`)}`),
  'JSON of many groups': JSON.stringify({ a: Array.from({ length: 20_000 }, (_, k) => ({ k })) }),
};
