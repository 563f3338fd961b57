import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../../../test/programmable-engine/engine.ts';
import { runCommand } from '../../../test/support/run-command.ts';
import type { Diagnosis } from '../../core/diagnosis.ts';

let engine: ProgrammableEngine;
const folder = mkdtempSync(join(tmpdir(), 'weir-doctor-'));
beforeAll(async () => {
  engine = await startProgrammableEngine({ apiKey: 'right', models: [{ id: 'Qwen/Qwen3-8B', maxModelLen: 32_768 }] });
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

interface Declared {
  readonly port?: number;
  readonly path?: string;
  readonly key?: string;
  readonly host?: string;
  readonly tls?: string;
  readonly contextLength?: number;
  readonly upstreamModel?: string;
}

const manifestsOf = (declared: Declared): string => `
apiVersion: v1
kind: Secret
metadata: {name: vllm-a}
stringData: {token: ${declared.key ?? 'right'}}
---
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: vllm-a}
spec:
  engine: vllm
  endpoint: {host: ${declared.host ?? '127.0.0.1'}, port: ${declared.port ?? engine.port}, path: ${declared.path ?? '/v1'}}
  ${declared.tls ?? 'tls: {mode: Disabled}'}
  credentials: {secretRef: {name: vllm-a, key: token}}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: qwen3-8b}
spec:
  id: qwen/qwen3-8b
  ownedBy: qwen
  added: "2026-06-01T00:00:00Z"
  contextLength: ${declared.contextLength ?? 32_768}
  inputModalities: [text]
  pricing: {prompt: "0", completion: "0"}
  routes: [{backend: vllm-a, upstreamModel: ${declared.upstreamModel ?? 'Qwen/Qwen3-8B'}}]
`;

async function examined(declared: Declared, ...flags: readonly string[]) {
  writeFileSync(join(folder, 'all.yaml'), manifestsOf(declared));
  const { stdout, stderr, code } = await runCommand(['doctor', '--manifests', folder, '--json', ...flags]);
  if (stdout === '') return { code, stderr, found: {}, notes: {} };
  const { diagnoses } = JSON.parse(stdout) as { readonly diagnoses: readonly Diagnosis[] };
  const checks = diagnoses.flatMap((one) => one.checks).map((one) => ({ ...one, check: one.check.split(': ').at(-1) }));
  return {
    ...{ code, stderr },
    found: Object.fromEntries(checks.map(({ check, found }) => [check, found])),
    notes: Object.fromEntries(checks.map(({ check, note }) => [check, note])),
  };
}

it('finds nothing where the engine is what the manifests say', async () => {
  const { code, found, notes } = await examined({});
  expect(found).toEqual({
    ...{ reachable: 'good', key: 'good', path: 'good' },
    ...{ upstreamModel: 'good', contextLength: 'good', stream: 'good', usage: 'good' },
  });
  expect([code, notes['contextLength']]).toEqual([0, '32768']);
  expect(notes['stream']).toMatch(/^first token \d+ ms/);
});

it.each<readonly [string, Declared, { readonly bad: string; readonly note: RegExp }]>([
  ['a dead address', { port: 1 }, { bad: 'reachable', note: /^refuses connections\. Start the engine/ }],
  [
    'a host that is not there',
    { host: 'nobody.invalid' },
    { bad: 'reachable', note: /^no such host: nobody\.invalid$/ },
  ],
  [
    'plain HTTP in place of TLS',
    { tls: 'tls: {mode: System}', host: 'localhost' },
    { bad: 'TLS', note: /^speaks plain HTTP/ },
  ],
  ['a wrong key', { key: 'wrong' }, { bad: 'key', note: /^refuses the credential \(HTTP 401\)/ }],
  [
    'a wrong name of the model',
    { upstreamModel: 'Qwen/Qwen3-8' },
    { bad: 'upstreamModel', note: /is not listed \(Did you mean Qwen\/Qwen3-8B\?\); it lists Qwen\/Qwen3-8B$/ },
  ],
  [
    'a window that is longer than the real one',
    { contextLength: 131_072 },
    { bad: 'contextLength', note: /^131072 is more than the engine's 32768$/ },
  ],
])('finds %s, with exit code 1', async (_, declared, { bad, note }) => {
  const { code, found, notes } = await examined(declared);
  expect([code, found[bad], notes[bad]]).toEqual([1, 'bad', expect.stringMatching(note)]);
});

it('tells that an engine counts nothing, which no manifest denies', async () => {
  engine.set({ usage: 'absent' });
  const { code, found, notes } = await examined({});
  engine.reset();
  expect([code, found['usage'], notes['usage']]).toEqual([
    0,
    'unclear',
    'no counts: bills and token limits are estimates',
  ]);
});

it('marks an endpoint that streams more slowly than the others, with exit code 0', async () => {
  const slow = await startProgrammableEngine({
    apiKey: 'right',
    models: [{ id: 'Qwen/Qwen3-8B', maxModelLen: 32_768 }],
  });
  engine.set({ words: 12, tokenDelayMs: 1, reasoning: 'never' });
  slow.set({ words: 12, tokenDelayMs: 60, reasoning: 'never' });
  const manifest = manifestsOf({}).replace(
    /endpoint: .*/,
    `endpoints: [{host: 127.0.0.1, port: ${engine.port}}, {host: 127.0.0.1, port: ${slow.port}}]\n  path: /v1`,
  );
  writeFileSync(join(folder, 'all.yaml'), manifest);
  const { stdout, code } = await runCommand(['doctor', '--manifests', folder]);
  engine.reset();
  await slow.close();
  const streams = stdout.split('\n').filter((line) => line.includes(': stream '));
  expect([code, streams]).toEqual([
    0,
    [
      expect.stringMatching(/stream +good +first token \d+ ms, [\d.]+ tokens\/s$/),
      expect.stringMatching(
        /stream +slow +first token .*; more than 3 times slower than the median of its Backend: [\d.]+ tokens\/s$/,
      ),
    ],
  ]);
  expect(stdout).toContain('good: nothing contradicts the manifests, but an endpoint is slow');
});

it('shows a table, of one Backend or all', async () => {
  writeFileSync(join(folder, 'all.yaml'), manifestsOf({ key: 'wrong' }));
  const { stdout, code } = await runCommand(['doctor', 'vllm-a', '--manifests', folder]);
  expect(code).toBe(1);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    `Backend/vllm-a at 127.0.0.1:${engine.port}`,
    expect.stringMatching(/^check +found +note$/),
    expect.stringMatching(/^reachable +good/),
    expect.stringMatching(/^key +bad +refuses the credential/),
  ]);
  const none = await runCommand(['doctor', 'vllm-b', '--manifests', folder]);
  expect([none.code, none.stderr]).toEqual([1, 'weir: There is no Backend vllm-b (Did you mean vllm-a?).\n']);
});

it('tries what is declared when it is asked to look deep', async () => {
  const { found } = await examined({}, '--deep');
  expect(Object.keys(found)).toEqual(expect.arrayContaining(['temperature', 'tool_choice auto', 'continuation']));
});

it('refuses manifests that are not in order', async () => {
  const { code, stderr } = await examined({ tls: 'tsl: {mode: Disabled}' });
  expect([code, stderr]).toEqual([1, expect.stringContaining('spec.tsl: unknown field')]);
});
