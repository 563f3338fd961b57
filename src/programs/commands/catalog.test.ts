// @suite apart
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { checkManifests } from '../../control/reconcilers/check-manifests.ts';
import { catalogCommand } from './catalog.ts';

const good = `apiVersion: v1
kind: Secret
metadata: {name: vllm-a}
stringData: {token: sk-canary}
---
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: vllm-a}
spec:
  engine: vllm
  endpoint: {host: vllm-a.models.svc, port: 8000, path: /v1}
  tls: {mode: Off}
  credentials: {secretRef: {name: vllm-a, key: token}}
  capacity: {maxConcurrentRequests: 64}
  healthCheck: {path: /health, intervalSeconds: 5}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: qwen3-8b}
spec:
  id: qwen/qwen3-8b
  ownedBy: qwen
  added: "2026-06-01T00:00:00Z"
  contextLength: 131072
  inputModalities: [text]
  pricing: {prompt: "0.00000015", completion: "0.0000006", inputCacheRead: "0.00000003"}
  reasoning: {mode: Optional, efforts: [low, medium, high, max]}
  tokenizer: {path: qwen3-8b}
  serviceLevel: {minAvailability: "0.99", windowSeconds: 900}
  hedging: {mode: Auto}
  routes:
  - backend: vllm-a
    upstreamModel: Qwen/Qwen3-8B
    weight: 100
    capabilities: {}
  retireAt: "2027-01-31T00:00:00Z"
`;

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'weir-check-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  await rm(dir, { recursive: true });
});

async function check(...args: readonly string[]): Promise<{ readonly output: string; readonly code: unknown }> {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true).mockClear();
  const program = new Command();
  catalogCommand(program);
  await program.parseAsync(['catalog', 'check', ...args], { from: 'user' });
  return { output: written.mock.calls.map(([text]) => String(text)).join(''), code: process.exitCode };
}

test('counts what a good folder has: the manifests of the documentation', async () => {
  await writeFile(join(dir, 'all.yaml'), good);
  expect(await check(dir)).toEqual({
    output: 'qwen/qwen3-8b  vllm-a\n1 model, 1 backend, 1 route: good\n',
    code: undefined,
  });
  expect(JSON.parse((await check(dir, '--json')).output)).toEqual({
    models: 1,
    backends: 1,
    routes: 1,
    problems: [],
    notes: [],
  });
});

test('takes a Service, which a folder for kubectl may name, and notes that a gateway cannot follow it from a folder', async () => {
  const service = good.replace(/endpoint: \{.*\}/, 'service: {name: vllm-a, port: http}\n  path: /v1');
  await writeFile(join(dir, 'all.yaml'), service);
  const note = {
    where: expect.stringMatching(/all\.yaml#2:11$/) as unknown,
    field: 'spec.service',
    message: 'for kubectl apply; a gateway that serves this folder itself (--manifests) cannot follow a Service',
  };
  const { output, code } = await check(dir);
  expect(output).toMatch(/^qwen\/qwen3-8b {2}vllm-a\nnote: .*all\.yaml#2:11: spec\.service: .*\n1 model, .*: good\n$/);
  expect(code).toBeUndefined();
  expect(JSON.parse((await check(dir, '--json')).output)).toMatchObject({ problems: [], notes: [note] });
});

test('notes the same of an InferencePool, and does not take it where a gateway is to serve the folder itself', async () => {
  await writeFile(join(dir, 'all.yaml'), good.replace(/endpoint: \{.*\}/, 'inferencePool: {name: qwen}'));
  const { output, code } = await check(dir);
  expect(output).toMatch(/^note: .*spec\.inferencePool: .* cannot follow an InferencePool$/m);
  expect(code).toBeUndefined();
  const { problems } = await checkManifests(dir, 'refused');
  expect(problems.map(({ field }) => field)).toEqual(['spec.inferencePool', 'spec.routes[0].backend']);
  expect(problems[0]?.message).toMatch(/^expected endpoint or endpoints: an InferencePool is followed only where /);
});

test('does not take a Service where a gateway is to serve the folder itself', async () => {
  await writeFile(join(dir, 'all.yaml'), good.replace(/endpoint: \{.*\}/, 'service: {name: vllm-a, port: http}'));
  const { problems } = await checkManifests(dir, 'refused');
  expect(problems.map(({ field }) => field)).toEqual(['spec.service', 'spec.routes[0].backend']);
  expect(problems[0]?.message).toMatch(/^expected endpoint or endpoints: a Service is followed only where /);
});

test('prints each problem with file, document, line and field, and exits with 1', async () => {
  await writeFile(
    join(dir, 'all.yaml'),
    good.replace('backend: vllm-a', 'backend: vllm-b').replace('port: 8000', 'port: 0'),
  );
  await writeFile(join(dir, 'broken.yaml'), 'kind: "');
  expect(await check(dir)).toEqual({
    output: `${[
      'broken.yaml:1: kind: expected a missing ":", comma, quote, bracket or space',
      'all.yaml#2:11: spec.endpoint.port: expected at least 1',
      'all.yaml#3:32: spec.routes[0].backend: expected a Backend, there is none named "vllm-b" (Did you mean vllm-a?)',
      '3 problems',
    ].join('\n')}\n`,
    code: 1,
  });
});

test('prints problems as JSON too, and exits with 1', async () => {
  await writeFile(join(dir, 'one.json'), '{"apiVersion": "v1", "kind": "Pod"}');
  const { output, code } = await check(dir, '--json');
  expect(JSON.parse(output)).toEqual({
    models: 0,
    backends: 0,
    routes: 0,
    problems: [{ where: 'one.json:1', field: 'kind', message: 'expected Secret or ConfigMap with this apiVersion' }],
    notes: [],
  });
  expect(code).toBe(1);
});

test('says which folder is missing or has no manifests, and exits with 1', async () => {
  const missing = join(dir, 'missing');
  expect(await check(missing)).toEqual({ output: `${missing}: expected a readable folder\n1 problem\n`, code: 1 });
  await writeFile(join(dir, 'only-a-comment.yaml'), '# nothing yet\n');
  expect(await check(dir)).toEqual({
    output: `${dir}: expected manifests: files ending in .yaml, .yml or .json with objects in them\n1 problem\n`,
    code: 1,
  });
});

test('prints the manifests of a LiteLLM configuration, and on standard error what they leave out', async () => {
  const file = join(dir, 'config.yaml');
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await writeFile(
    file,
    'model_list: [{model_name: a, litellm_params: {model: openai/a, api_key: os.environ/KEY, max_retries: 2}}]',
  );
  const program = new Command();
  catalogCommand(program);
  await program.parseAsync(['catalog', 'convert-litellm', file], { from: 'user' });
  const kinds = parseAllDocuments(String(written.mock.calls[0]?.[0])).map((document) => document.get('kind'));
  expect(kinds).toEqual(['Backend', 'Model']);
  expect(String(said.mock.calls[0]?.[0]).split('\n')).toEqual([
    'make: Secret key with the entry token',
    'check: model_list[0].model_info: no price; pricing is 0, set it',
    'check: model_list[0].model_info.max_input_tokens: missing; contextLength is 32768, set it',
    'left out: model_list[0].litellm_params.max_retries: Weir retries and ejects by itself',
    '',
  ]);
});

test('names in a configuration cannot act on the terminal or begin a line of ours', async () => {
  const file = join(dir, 'config.yaml');
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const name = '"\\u001b]52;c;aGk=\\u0007a\\ncheck: all is well\\u009b2J"';
  await writeFile(file, `model_list: [{model_name: ${name}, litellm_params: {model: openai/a, ${name}: 2}}]`);
  const program = new Command();
  catalogCommand(program);
  await program.parseAsync(['catalog', 'convert-litellm', file], { from: 'user' });
  const report = said.mock.calls.map(([text]) => String(text)).join('');
  expect(report).toContain(String.raw`\u001b]52;c;aGk=\u0007a\u000acheck: all is well\u009b2J`);
  expect(report).not.toMatch(/^check: all is well/m);
  const printed = report + written.mock.calls.map(([text]) => String(text)).join('');
  // oxlint-disable-next-line no-control-regex -- these are what a terminal acts on
  expect(printed).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
});

test.each(['-', '/dev/stdin'])('reads a pipe as %s', async (name) => {
  const config = 'model_list: [{model_name: a, litellm_params: {model: openai/a}}]';
  // Of programs there may be a shell alone.
  const run = (text: string, command: string) => {
    const pipe = `printf %s "$0" | "${process.execPath}" src/main.ts catalog ${command} ${name}`;
    return promisify(execFile)('sh', ['-c', pipe, text]);
  };
  const [converted, checked] = await Promise.all([run(config, 'convert-litellm'), run(good, 'check')]);
  expect(parseAllDocuments(converted.stdout).map((document) => document.get('kind'))).toEqual(['Backend', 'Model']);
  expect(checked.stdout).toContain('1 model, 1 backend, 1 route: good');
});

test('compiles the expressions of Identities, which the API server takes as they are', async () => {
  const identity = (spec: string) =>
    `apiVersion: weir.dev/v1alpha1\nkind: Identity\nmetadata: {name: search}\nspec:\n  issuer: cluster\n  audience: weir\n${spec}`;
  await writeFile(join(dir, 'all.yaml'), good);
  const rules = "  match: ['true', 'claims.']\n  workspaceClaim: token.sub\n  tags: {app: 'claims.a.b()'}\n";
  await writeFile(join(dir, 'identity.yaml'), identity(rules));
  const { problems } = await checkManifests(dir, 'refused');
  expect(problems.map(({ field }) => field)).toEqual(['spec.match[1]', 'spec.workspaceClaim', 'spec.tags.app']);
  expect(problems[1]).toMatchObject({
    where: expect.stringMatching(/identity\.yaml(#1)?:8$/) as string,
    message: 'expected "claims", and found "token"',
  });
  await writeFile(join(dir, 'identity.yaml'), identity('  match: [\'claims.sub == "a"\']\n  workspace: search\n'));
  expect((await checkManifests(dir, 'refused')).problems).toEqual([]);
  await writeFile(join(dir, 'identity.yaml'), identity("  match: ['true']\n"));
  const without = (await checkManifests(dir, 'refused')).problems;
  expect(without).toMatchObject([
    { field: 'spec.workspace', message: 'expected workspace or workspaceClaim, and not both' },
  ]);
});

test.each([
  [{ App: 'claims.sub' }, '"App" cannot be the name of a tag'],
  [{ a: 'true', b: 'true', c: 'true', d: 'true', e: 'true' }, 'expected at most 4 tags'],
])('refuses the tags of an Identity that a request cannot have: %j', async (tags, message) => {
  const spec = { issuer: 'cluster', audience: 'weir', match: ['true'], workspace: 'search', tags };
  const object = { apiVersion: 'weir.dev/v1alpha1', kind: 'Identity', metadata: { name: 'search' }, spec };
  await writeFile(join(dir, 'identity.json'), JSON.stringify(object));
  const { problems } = await checkManifests(dir, 'refused');
  expect(problems).toMatchObject([{ field: 'spec.tags', message }]);
});
