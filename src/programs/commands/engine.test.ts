import { createServer } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startDemoEngine } from '../../../examples/demo-engine/engine.ts';
import type { BehaviourInput } from '../../../test/programmable-engine/behaviour.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../../../test/programmable-engine/engine.ts';
import { runCommand } from '../../../test/support/run-command.ts';

let engine: ProgrammableEngine;
const folder = mkdtempSync(join(tmpdir(), 'weir-check-'));
beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha', models: [{ id: 'demo-chat', maxModelLen: 4096 }] });
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

interface Report {
  readonly good: boolean;
  readonly engine: string;
  readonly contextLength: number | null;
  readonly findings: readonly { readonly name: string; readonly found: string; readonly note: string }[];
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** Runs the command against the engine, which behaves as given. */
async function check(behaviour: BehaviourInput, ...flags: readonly string[]) {
  engine.reset();
  engine.set({ contextLength: 4096, ...behaviour });
  const { stdout, code, stderr } = await runCommand(['engine', 'check', engine.url, '--engine', 'vllm', ...flags]);
  return { stdout, code, stderr };
}

async function reportOf(behaviour: BehaviourInput): Promise<Report & { readonly code: unknown }> {
  const { stdout, code } = await check(behaviour, '--json');
  return { ...(JSON.parse(stdout) as Report), code };
}

const foundOf = ({ findings }: Report): Readonly<Record<string, string>> =>
  Object.fromEntries(findings.map(({ name, found }) => [name, found]));

describe('an engine that does what its table says', () => {
  it('is good, with nothing to declare', async () => {
    const report = await reportOf({});
    expect(report.findings.filter(({ found }) => found === 'no')).toEqual([]);
    expect(report).toMatchObject({ good: true, code: 0, engine: 'vllm', contextLength: 4096, capabilities: {} });
    expect(foundOf(report)).toMatchObject({
      ...{ 'whole answer': 'yes', 'streamed answer': 'yes', 'running usage': 'yes', n: 'yes', continuation: 'yes' },
      ...{ 'tool_choice required, streamed': 'yes', 'response_format json_schema': 'yes', 'reasoning off': 'yes' },
      ...{ 'cached tokens': 'yes', 'context refusal': 'yes' },
    });
  });

  it('is shown as a table', async () => {
    const { stdout, code } = await check({});
    expect(code).toBe(0);
    expect(stdout).toMatch(/^demo-chat on vllm at http:\/\/127\.0\.0\.1:\d+\/v1, context 4096$/m);
    expect(stdout).toMatch(/^tool_choice named +yes +yes +a sound call$/m);
    expect(stdout).toMatch(/^good: /m);
  });
});

describe('an engine that lies', () => {
  it.each<readonly [string, BehaviourInput, object]>([
    [
      'takes a schema and answers in words',
      { jsonDefect: 'not-json' },
      { responseFormats: [], streamedResponseFormats: [] },
    ],
    ['misses the schema', { jsonDefect: 'wrong-schema' }, { responseFormats: ['json_object'] }],
    ['begins anew where it should go on', { continuation: 'ignore' }, { continuation: false }],
    ['repeats what it should go on from', { continuation: 'echo' }, { continuationMark: 'echo' }],
    ['reasons although reasoning is off', { reasoning: 'always', reasoningWords: 40 }, { reasoning: { off: false } }],
    [
      'writes its reasoning into the text',
      { reasoningField: 'think', reasoningWords: 12 },
      { inlineReasoning: { tags: ['think'] } },
    ],
    ['leaves arguments unfinished', { argumentsDefect: 'not-json' }, { tools: false }],
  ])('%s: it is found, and the block says so', async (_, behaviour, capabilities) => {
    const report = await reportOf(behaviour);
    expect(report).toMatchObject({ good: false, code: 1, capabilities });
  });

  it('is good with the block that was written for it', async () => {
    const { stdout, code } = await check({ jsonDefect: 'not-json' });
    expect(code).toBe(1);
    const block = stdout.slice(stdout.indexOf('capabilities:'));
    expect(parse(block)).toMatchObject({ capabilities: { responseFormats: [] } });
    const file = join(folder, 'capabilities.yaml');
    writeFileSync(file, block);
    const again = await check({ jsonDefect: 'not-json' }, '--capabilities', file);
    expect([again.code, again.stderr.includes('weir:')], again.stdout).toEqual([0, false]);
  });

  it('refuses a parameter of its row', async () => {
    const report = await reportOf({ rejectFields: ['min_p'] });
    expect(report.capabilities['parameters']).not.toContain('min_p');
    expect(report.findings).toContainEqual(
      expect.objectContaining({ name: 'min_p', note: 'refused with status 400 (bad-request, about min_p)' }),
    );
  });
});

it('the demo engine is found to be what it is', async () => {
  const demo = await startDemoEngine({ host: '127.0.0.1', port: 0, models: ['demo-chat'], tokenMs: 0 });
  try {
    const { stdout, code } = await runCommand(['engine', 'check', demo.url, '--json', '--model', 'demo-chat']);
    const report = JSON.parse(stdout) as Report;
    expect(code).toBe(1);
    expect(foundOf(report)).toMatchObject({ 'whole answer': 'yes', 'streamed answer': 'yes', usage: 'yes' });
    // The demo engine answers with a schema, calls no tool and has no probabilities.
    expect(report.capabilities).toMatchObject({ toolChoice: ['auto', 'none'] });
    expect(report.capabilities['parameters']).not.toContain('logprobs');
  } finally {
    await demo.close();
  }
});

describe('what is no engine', () => {
  it('is named, with what was expected', async () => {
    const server = createServer((_, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      const { code, stderr } = await runCommand(['engine', 'check', `http://127.0.0.1:${port}`]);
      expect(code).toBe(1);
      expect(stderr).toContain('does not answer with JSON');
      expect(stderr).toContain('Expected an engine that speaks the chat completions format.');
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it.each([
    [['engine', 'check', 'tcp:nothing'], 'Expected http://HOST:PORT'],
    [['engine', 'check', 'http://127.0.0.1:9'], 'cannot be reached'],
  ])('%j: says why', async (args, reason) => {
    const { code, stderr } = await runCommand(args);
    expect([code, stderr.includes(reason)], stderr).toEqual([1, true]);
  });

  it('a model that is not there is named, with those that are', async () => {
    const { code, stderr } = await check({}, '--model', 'demo-chatt');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/no model "demo-chatt".*demo-chat/)]);
  });
});

it('the names that an engine lists are shown, and a terminal does not act on them', async () => {
  const liar = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'a\u001B]0;owned\u0007' }, { id: 'b\u009B2J' }] }));
  });
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve));
  const { port } = liar.address() as { readonly port: number };
  const { stderr, stdout, code } = await runCommand(['engine', 'check', `http://127.0.0.1:${port}`]);
  await new Promise((resolve) => liar.close(resolve));
  expect(code).toBe(1);
  expect(stderr).toContain(String.raw`a\u001b]0;owned\u0007, b\u009b2J`);
  expect(['\u001B', '\u0007', '\u009B'].filter((control) => (stderr + stdout).includes(control))).toEqual([]);
});
