import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startLlama } from '../support/llama.ts';
import { runWeir } from '../support/run-weir.ts';
import { forFile } from '../support/for-file.ts';

// Whether `weir engine check` is right about a real llama-server (docs/how-to/llamacpp.md).

const folder = mkdtempSync(join(tmpdir(), 'weir-check-'));
afterAll(() => rmSync(folder, { recursive: true }));
// With one slot it makes one answer for a request.
const llama = await forFile(startLlama({ parallel: 1 }));

interface Report {
  readonly good: boolean;
  readonly engine: string;
  readonly contextLength: number;
  readonly findings: readonly { readonly name: string; readonly declared: boolean | null; readonly found: string }[];
  readonly capabilities: Readonly<Record<string, unknown>>;
}

async function check(...flags: readonly string[]): Promise<Report & { readonly code: unknown }> {
  const { stdout, stderr, code } = await runWeir(['engine', 'check', llama.url, '--json', ...flags]);
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as Report), code };
}

const foundOf = ({ findings }: Report): Readonly<Record<string, string>> =>
  Object.fromEntries(findings.map(({ name, found }) => [name, found]));

it('finds that all is true which the row of llama.cpp declares', async () => {
  const report = await check();
  expect(report.findings.filter(({ declared, found }) => declared === true && found === 'no')).toEqual([]);
  expect(report).toMatchObject({ good: true, code: 0, engine: 'llamacpp', contextLength: 4096, capabilities: {} });
  expect(foundOf(report)).toMatchObject({
    ...{ 'whole answer': 'yes', 'streamed answer': 'yes', usage: 'yes', 'running usage': 'no', 'cached tokens': 'yes' },
    ...{
      stop: 'yes',
      seed: 'yes',
      logprobs: 'yes',
      top_logprobs: 'yes',
      'response_format json_schema, streamed': 'yes',
    },
    ...{ 'response_format json_schema': 'yes', 'context refusal': 'yes', continuation: 'yes' },
  });
});

it('finds a capability that the server does not have, and writes the block without it', async () => {
  const file = join(folder, 'lies.yaml');
  writeFileSync(file, 'capabilities: {parameters: [temperature, n, logprobs], continuationMark: trailing}\n');
  const report = await check('--capabilities', file);
  expect(report).toMatchObject({
    ...{ good: false, code: 1 },
    capabilities: { parameters: ['temperature', 'logprobs'], continuationMark: 'echo' },
  });
  expect(foundOf(report)).toMatchObject({ n: 'no', logprobs: 'yes', continuation: 'no' });

  const good = join(folder, 'good.yaml');
  writeFileSync(good, stringify({ capabilities: report.capabilities }));
  expect(await check('--capabilities', good)).toMatchObject({ good: true, code: 0, capabilities: {} });
});
