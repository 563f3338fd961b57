import { join } from 'node:path';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseBehaviour } from '../programmable-engine/behaviour.ts';
import { messageOf } from '../../src/core/failure.ts';
import { samplePortal } from '../support/sample-portal.ts';
import { createCallChecks, type CallOptions } from './examples/check-calls.ts';
import { type CommandContext, commandProblems, mentionProblems, settingProblems } from './examples/check-commands.ts';
import { createFormChecks } from './examples/check-forms.ts';
import { type Example, examplePages, examplesOf, markdownExamples } from './examples/page-examples.ts';

const root = join(import.meta.dirname, '..', '..');
const pages = examplePages(root);
const examples = pages.flatMap((page) => examplesOf(page, root));

/** Pages whose YAML and JSON, but for what is sent to Weir, are the settings of other programs. */
const ofOthers = new Set(['docs/how-to/clients.md']);
/** Pages that speak of fields of engines, which have names like ours. */
const engineOfTests = 'test/programmable-engine/README.md';
const ofEngines = new Set(['docs/reference/engines.md', 'docs/reference/parameters.md', engineOfTests]);

let made: Promise<CommandContext> | undefined;
/** Made by the test that is first: a portal, which lives as long as that test, describes the admin API. */
const contextOf = (): Promise<CommandContext> => (made ??= makeContext());

async function makeContext(): Promise<CommandContext> {
  const { server } = await samplePortal();
  const adminApi = (await server.inject('/api/openapi.json')).json<CallOptions['adminApi']>();
  const folder = join(root, 'examples', 'manifests');
  const manifests = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const ids = [...manifests, ...examples.map(({ text }) => text)].join('\n').matchAll(/^ *id: (\S+\/\S+)/gm);
  const models = new Set([...ids].map(([, id = '']) => id));
  return { root, forms: createFormChecks(root), calls: createCallChecks({ adminApi, models }) };
}

/** What was looked at, by kind. */
type Counts = Record<'commands' | 'yaml' | 'json' | 'mentions' | 'fields', number>;

/** What the programmable engine says of directives. Undefined: the code is none. */
function directiveProblems(span: string): readonly string[] | undefined {
  const [, text = ''] = /^(?:\[\[demo )?(\{"\w+":.*?\})(?:\]\])?$/.exec(span) ?? [];
  if (text === '' || /: n\}/.test(text)) return undefined;
  try {
    parseBehaviour(JSON.parse(text));
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}

async function problemsOf(example: Example, counts?: Counts): Promise<readonly string[]> {
  const { kind, page, text } = example;
  const context = await contextOf();
  const count = (of: keyof Counts): void => {
    if (counts !== undefined) counts[of] += 1;
  };
  switch (kind) {
    case 'other':
      return settingProblems(text);
    case 'shell':
      count('commands');
      return [...settingProblems(text), ...(await commandProblems(text, context))];
    case 'yaml':
      count('yaml');
      return ofOthers.has(page) ? [] : [...settingProblems(text), ...context.forms.yaml(text)];
    case 'json':
      count('json');
      return ofOthers.has(page) ? (JSON.parse(text), []) : context.calls.request(text);
    case 'span': {
      const mention = await mentionProblems(text, context);
      if (mention !== undefined) count('mentions');
      const directives = page === engineOfTests ? directiveProblems(text) : undefined;
      if (directives !== undefined) count('json');
      const field = mention === undefined && !ofEngines.has(page) ? context.forms.field(text) : undefined;
      if (field !== undefined) count('fields');
      return [...settingProblems(text), ...(mention ?? field ?? directives ?? [])];
    }
  }
}

/** Fewer would mean that the pages are not read as they were. */
const leastOf: Counts = { commands: 28, yaml: 13, json: 15, mentions: 150, fields: 15 };

async function said(example: Example, counts?: Counts): Promise<readonly string[]> {
  const problems = await problemsOf(example, counts).catch((error: unknown) => [messageOf(error)]);
  return problems.map((problem) => `${example.page}:${example.line}: ${problem}`);
}

it('every example of the pages works', async () => {
  const counts: Counts = { commands: 0, yaml: 0, json: 0, mentions: 0, fields: 0 };
  const problems: string[] = [];
  for (const example of examples) problems.push(...(await said(example, counts)));
  console.log(`examples on ${pages.length} pages: ${JSON.stringify(counts)}`);
  expect(problems).toEqual([]);
  expect(Object.entries(leastOf).filter(([kind, least]) => counts[kind as keyof Counts] < least)).toEqual([]);
});

const planted = (kind: Example['kind'], text: string): Example => ({ page: 'README.md', line: 1, kind, text });
const manifest =
  'apiVersion: weir.dev/v1alpha1\nkind: Backend\nmetadata: {name: a}\nspec: {engine: vllm, service: {name: a, port: http}}';

const mistakes: readonly (readonly [kind: Example['kind'], wrong: string, right?: string])[] = [
  ['shell', 'wier usage'],
  ['shell', 'weir usages'],
  ['shell', 'weir usage --bye day'],
  ['shell', 'weir usage --by fortnight', 'weir usage --by day'],
  ['shell', 'weir key create --workspace acme --budget 5', 'weir key create --workspace acme --budget 5 --period day'],
  ['shell', 'weir key create', 'weir key create --workspace acme'],
  ['shell', 'weir key revoke', 'weir key revoke KEY_ID'],
  ['shell', 'weir workspace limits acme --max-in-flight none', 'weir workspace limits acme --max-in-flight 8'],
  ['shell', 'npx weir serve --ops 1', 'npx weir serve --ops-port 1'],
  ['shell', 'npm run hostil'],
  ['shell', 'npm run hostile -- --minute 2', 'npm run hostile -- --minutes 2'],
  ['shell', 'npm start -- --manifest x', 'npm start -- --manifests x'],
  ['shell', 'npm start -- --price 1', 'npm start -- --upstream 127.0.0.1:1 --price 0.1,0.2'],
  ['shell', 'WEIR_IDLE_SECOND=3 weir serve', 'WEIR_IDLE_SECONDS=3 weir serve'],
  ['shell', 'export WEIR_IDLE_SECONDS=soon'],
  ['shell', "echo 'open", 'openssl rand 8 > file'],
  [
    'shell',
    'helm install weir charts/weir --set demo.enable=true',
    'helm install weir charts/weir --set demo.enabled=true',
  ],
  ['shell', 'helm install weir charts/wier'],
  ['shell', 'kubectl exec pod -- weir workspaces', 'kubectl exec pod -- weir workspace list'],
  ['shell', "kubectl apply -f - <<'END'\nkind: Modle\nEND", `kubectl apply -f - <<'END'\n${manifest}\nEND`],
  ['shell', "curl http://a/v1/completions -d '{}'"],
  ['shell', `curl http://a/v1/chat/completions -d '{"model": "demo/chat"}'`],
  [
    'shell',
    `curl http://a/v1/chat/completions -d '{"model": "demo/no", "messages": []}'`,
    `curl http://a/v1/chat/completions -d '{"model": "demo/chat", "messages": [{"role": "user", "content": "a"}]}'`,
  ],
  ['shell', `curl http://a/api/v1/workspaces -d '{"nam": "a"}'`, `curl http://a/api/v1/workspaces -d '{"name": "a"}'`],
  ['shell', 'curl http://a/api/v1/usage?form=2026-01-01', 'curl http://a/api/v1/usage?from=2026-01-01'],
  ['shell', 'curl http://a/api/v1/usages'],
  ['yaml', 'apiVersion: weir.dev/v1\nkind: Model'],
  ['yaml', manifest.replace('vllm', 'vlm'), manifest],
  [
    'yaml',
    'kind: Model\nspec:\n  routes: [{backend: a, upstreamModel: b, weight: -1}]',
    'kind: Model\nspec:\n  routes: [{backend: a, upstreamModel: b, weight: 0}]',
  ],
  ['yaml', 'routes: [{backend: a, upstreamModels: b}]', 'routes: [{backend: a, upstreamModel: b}]'],
  [
    'yaml',
    'kind: Backend\nspec:\n  service: {name: a, port: 1}\n# endpoints: [{hosts: a}]',
    'kind: Backend\nspec:\n  service: {name: a, port: 1}\n# endpoints: [{host: a, port: 1}]',
  ],
  ['yaml', 'portal: {enable: true}', 'portal: {enabled: true}'],
  ['yaml', 'portals: {enabled: true}'],
  ['yaml', 'resources: {limit: {cpu: 1}}', 'resources: {limits: {cpu: 1}}'],
  ['yaml', 'a: 1\na: 2'],
  [
    'json',
    '{"model": "demo/chat", "messages": "hello"}',
    '{"model": "demo/chat", "messages": [{"role": "user", "content": "a"}]}',
  ],
  ['span', 'weight: -1', 'weight: 0'],
  ['span', 'tls.mode: On', 'tls.mode: System'],
  ['span', 'resources: {limit: {cpu: 1}}', 'resources: {limits: {cpu: 1}}'],
  ['span', 'weir usage --bye', 'weir usage --by hour'],
  ['span', 'weir usage --by fortnight', 'weir usage [--csv]'],
  ['span', 'weir ledger mend', 'weir ledger verify'],
  ['span', 'npm run bench -- --fast', 'npm run bench -- --quick'],
  ['span', 'WEIR_NO_SUCH', 'WEIR_DATA'],
];

it.each(mistakes.map(([kind, wrong, right]) => ({ kind, wrong, right })))(
  'a mistake is found: $kind $wrong',
  async ({ kind, wrong, right }) => {
    expect(await said(planted(kind, wrong))).not.toEqual([]);
    if (right !== undefined) expect(await said(planted(kind, right))).toEqual([]);
  },
);

it('finds the blocks of a page and the code in its sentences, and refuses a block that nothing would check', () => {
  const page = 'Set `WEIR_DATA`.\n\n```sh\nweir usage\n```\n\n```\n$ weir audit\nTIME\n```\n';
  expect(markdownExamples('a.md', page).map(({ kind, line, text }) => [kind, line, text.trim()])).toEqual([
    ['shell', 4, 'weir usage'],
    ['shell', 8, 'weir audit'],
    ['span', 1, 'WEIR_DATA'],
  ]);
  expect(() => markdownExamples('a.md', '```yml\na: 1\n```\n')).toThrow('a block in "yml"');
  expect(() => markdownExamples('a.md', '```sh\nweir usage\n')).toThrow('no end');
});
