import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startLlama } from '../support/llama.ts';
import { type LedgerRow, startWeir } from '../support/weir.ts';
import { claudeCode, codex, continueCli } from './agents.ts';
import type { Agent } from './clients.ts';
import { installPinned } from './install.ts';
import { makeFolders, removeFolders, runClient, seatAt } from './stage.ts';
import { forFile } from '../support/for-file.ts';

// A real engine whose template refuses a system message that is not the first one, as those of many models do. The
// coding agent that speaks messages sends one behind the user's words in every request.

const contextLength = 65_536;

const model = (id: string, capabilities: string): string => `
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: ${id.replace('/', '-')}}
spec:
  id: ${id}
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: ${contextLength}
  pricing: {prompt: "0.00000015", completion: "0.0000006"}
  hedging: {mode: Disabled}
  routes: [{backend: strict, upstreamModel: tiny, capabilities: ${capabilities}}]
---
`;
const catalog = (port: number): string => `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: strict}
spec: {engine: llamacpp, endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}}
---
${model('strict/as-it-is', '{}')}
${model('strict/misconfigured', '{systemMessages: Anywhere}')}`;

afterAll(() => removeFolders());
const installed = await installPinned();
const template = ['--chat-template-file', join(import.meta.dirname, 'strict-template.jinja')];
// The model was made for 4096 tokens, an agent's tools alone are more. Of itself it would hardly ever end an answer.
const long = ['--override-kv', `llama.context_length=int:${contextLength}`, '--logit-bias', '2+15'];
const llama = await forFile(startLlama({ parallel: 1, contextLength, extra: [...template, ...long] }));
const weir = await forFile(
  startWeir({
    unlimited: true,
    manifests: { 'catalog.yaml': catalog(llama.port) },
    env: { WEIR_RESPONSES: 'stateless' },
  }),
);

test('the engine refuses what the agents send', async () => {
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'system', content: 'Be brief.' },
  ];
  const response = await fetch(`${llama.url}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { connection: 'close' }, body: JSON.stringify({ messages }) },
  });
  expect(response.ok).toBe(false);
  expect(await response.text()).toContain('System message must be at the beginning');
});

/** A short conversation; resolves to the ledger's rows about it. Nothing went wrong that the agent could see. */
async function converse(
  agent: Agent,
  id: string,
  { parameters = [], timeoutMs }: { readonly parameters?: readonly string[]; readonly timeoutMs?: number } = {},
): Promise<readonly LedgerRow[]> {
  const before = (await weir.ledger()).length;
  const seat = seatAt(weir, { place: makeFolders(), model: id, installed: installed[agent.registry] });
  const { command, env } = agent.launch(seat, 'When does the tide turn?');
  const { code, stdout, stderr } = await runClient(weir, { command: [...command, ...parameters], env }, seat, {
    timeoutMs,
  });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout + stderr).not.toMatch(/api_retry|API Error/);
  // The newest row comes first.
  const rows = (await weir.ledger()).toReversed().slice(before);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toMatchObject({ model: id, outcome: 'completed' });
  return rows;
}

// Its own instructions and all its tools would be a minute's work for one thread.
const briefly = { parameters: ['--system-prompt', 'You know tides.', '--tools', 'Read,Write'] };
/** An agent that sends them all takes that minute, and two on a busy machine. */
const timeoutMs = 300_000;

test('the agent that speaks messages is answered, at the first attempt', async () => {
  const rows = await converse(claudeCode, 'strict/as-it-is', briefly);
  expect(new Set(rows.map(({ attempts }) => attempts))).toEqual(new Set([1]));
});

test('it is also answered where the engine is taken for one that has no such rule, and the engine is asked in vain once', async () => {
  const [first, ...later] = await converse(claudeCode, 'strict/misconfigured', briefly);
  expect(first?.['attempts']).toBe(2);
  const again = await converse(claudeCode, 'strict/misconfigured', briefly);
  for (const { attempts } of [...later, ...again]) expect(attempts).toBe(1);
});

test('an agent that speaks chat is answered, at the first attempt', async () => {
  const rows = await converse(continueCli, 'strict/as-it-is');
  expect(new Set(rows.map(({ attempts }) => attempts))).toEqual(new Set([1]));
});

test('the agent that speaks responses is answered, at the first attempt', { timeout: 1.2 * timeoutMs }, async () => {
  const rows = await converse(codex, 'strict/as-it-is', { timeoutMs });
  expect(new Set(rows.map(({ attempts }) => attempts))).toEqual(new Set([1]));
});
