/** What `weir engine check` finds of a real llama-server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Llama, startLlama } from '../support/llama.ts';
import { runWeir } from '../support/run-weir.ts';

let llama: Llama;

beforeAll(async () => {
  llama = await startLlama({ parallel: 1 });
});
afterAll(() => llama.close());

interface Report {
  readonly engine: string;
  readonly contextLength: number | null;
  readonly findings: readonly { readonly name: string; readonly found: string; readonly note: string }[];
}

it('finds the window, and that everything of its row is served', async () => {
  const { stdout, stderr } = await runWeir(['engine', 'check', llama.url, '--json']);
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as Report;
  expect(report).toMatchObject({ engine: 'llamacpp', contextLength: 4096 });
  const found = Object.fromEntries(report.findings.map(({ name, found: verdict }) => [name, verdict]));
  expect(found).toMatchObject({
    ...{ 'whole answer': 'yes', 'streamed answer': 'yes', usage: 'yes', 'cached tokens': 'yes', seed: 'yes' },
    ...{ 'response_format json_schema': 'yes', 'response_format json_schema, streamed': 'yes' },
    ...{ 'tool_choice required': 'yes', 'tool_choice required, streamed': 'yes', 'context refusal': 'yes' },
    continuation: 'yes',
  });
});
