// @suite long
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { agentExamplesOf } from '../../portal/src/data/key-code.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import type { ScriptStep } from '../programmable-engine/script.ts';
import { startWeir } from '../support/weir.ts';
import { codex } from './agents.ts';
import type { Seat } from './clients.ts';
import { installPinned } from './install.ts';
import { makeFolders, removeFolders, runClient, seatAt } from './stage.ts';
import { forFile } from '../support/for-file.ts';

afterAll(() => removeFolders());
const installed = (await installPinned()).npm;
const engines = await forFile(
  Promise.all([startProgrammableEngine({ name: 'first' }), startProgrammableEngine({ name: 'spare' })] as const),
);
const weir = await forFile(startWeir({ engines, unlimited: true, env: { WEIR_RESPONSES: 'stateless' } }));
beforeEach(() => engines.forEach((engine) => engine.reset()));

const run = (cmd: string): ScriptStep['call'][number] => ({
  ...{ name: 'exec_command', arguments: JSON.stringify({ cmd }) },
});
const end = { say: 'That is all there is to it.', call: [] };
const loop: readonly ScriptStep[] = [
  { say: 'I write it down.', call: [run("printf 'It turns at 17:42.' > tides.txt")] },
  { say: 'I read it again.', call: [run('cat tides.txt')] },
  end,
];

const newSeat = (): Seat => seatAt(weir, { place: makeFolders(), model: 'test/model', installed });

/** Runs the agent. `more` goes between the command and the prompt. */
function ask(seat: Seat, prompt: string, more: readonly string[] = [], interruption?: AbortSignal) {
  const { command, env } = codex.launch(seat, prompt);
  const launch = { command: [...command.slice(0, -1), ...more, prompt], env };
  return runClient(weir, launch, seat, { interruption });
}

/** The rows of the ledger since the last call, oldest first. */
let seen = 0;
async function newRows(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await weir.settled();
  const rows = (await weir.ledger()).toSorted((a, b) => String(a['started_at']).localeCompare(String(b['started_at'])));
  const fresh = rows.slice(seen);
  seen = rows.length;
  return fresh;
}

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly reasoning?: string }[];
}
const lastAsked = (): Asked => {
  const bodies = engines.flatMap((engine) => engine.requests().map(({ body }) => body as Asked));
  return bodies.toSorted((a, b) => a.messages.length - b.messages.length).at(-1) ?? { messages: [] };
};

test('writes a file, reads it, and sends its model’s reasoning back', async () => {
  for (const engine of engines) engine.set({ script: loop, reasoning: 'always' });
  const seat = newSeat();
  const { code, stdout, stderr } = await ask(seat, 'Write down when the tide turns.');
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(readFileSync(join(seat.work, 'tides.txt'), 'utf8')).toBe('It turns at 17:42.');
  const { messages } = lastAsked();
  expect(messages.filter(({ role }) => role === 'tool').at(-1)?.content).toContain('It turns at 17:42.');
  const turns = messages.filter(({ role }) => role === 'assistant');
  expect(turns.map(({ reasoning = '' }) => reasoning.length > 0)).toEqual([true, true]);
  expect(await newRows()).toMatchObject(loop.map(() => ({ surface: 'responses', outcome: 'completed' })));
});

test('is set up by the card of a new key in the portal', async () => {
  for (const engine of engines) engine.set({ script: [end] });
  const seat = newSeat();
  const { command, env } = codex.launch(seat, 'When does the tide turn?');
  const model = { id: seat.model, kind: 'chat', context_length: 131_072, tools: true } as const;
  const { code: card } = agentExamplesOf(model, { url: `${seat.origin}/v1`, key: seat.key }).find(
    ({ name }) => name === 'Codex',
  )!;
  const program = `codex() { ${command.map((word) => `'${word}'`).join(' ')}; }`;
  const launch = { command: ['bash', '-ec', `${program}\n${card}`], env: { ...env, WEIR_KEY: 'of the card' } };
  const { code, stdout, stderr } = await runClient(weir, launch, seat);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(await newRows()).toMatchObject([{ surface: 'responses', outcome: 'completed' }]);
});

test('goes on over HTTP where it has nothing but openai_base_url, and so tries a WebSocket first', async () => {
  for (const engine of engines) engine.set({ script: [end] });
  const seat = newSeat();
  const { command } = codex.launch(seat, 'When does the tide turn?');
  const settings = `model = "${seat.model}"\nopenai_base_url = "${seat.origin}/v1"\n`;
  writeFileSync(join(seat.home, '.codex', 'config.toml'), settings);
  const launch = {
    // With all rights it would ask for a web search, which this gateway does not have.
    command: command.filter((word) => word !== '--dangerously-bypass-approvals-and-sandbox'),
    env: { CODEX_API_KEY: seat.key, RUST_LOG: 'codex_core::client=warn' },
  };
  const { code, stdout, stderr } = await runClient(weir, launch, seat);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(stderr).toContain('falling back to HTTP');
  expect(await newRows()).toMatchObject([{ surface: 'responses', outcome: 'completed' }]);
});

/** A token of an account. Codex reads its claims and nothing else. */
function idToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const account = { chatgpt_plan_type: 'pro', chatgpt_account_id: 'a', chatgpt_user_id: 'u' };
  const claims = { email: 'a@example.com', exp: 4_102_444_800, 'https://api.openai.com/auth': account };
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.${part({})}`;
}

test('compresses its bodies with an account, and is served', async () => {
  for (const engine of engines) engine.set({ script: [end] });
  const seat = newSeat();
  const { command } = codex.launch(seat, 'When does the tide turn?');
  const settings = `model = "${seat.model}"\nopenai_base_url = "${seat.origin}/v1"\n[features]\nenable_request_compression = true\n`;
  writeFileSync(join(seat.home, '.codex', 'config.toml'), settings);
  const tokens = { id_token: idToken(), access_token: seat.key, refresh_token: 'r', account_id: 'a' };
  const account = {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens,
    last_refresh: '2100-01-01T00:00:00Z',
  };
  writeFileSync(join(seat.home, '.codex', 'auth.json'), JSON.stringify(account));
  const launch = {
    command: command.filter((word) => word !== '--dangerously-bypass-approvals-and-sandbox'),
    env: { RUST_LOG: 'codex_http_client=debug' },
  };
  const { code, stdout, stderr } = await runClient(weir, launch, seat);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(stderr).toContain('Compressed request body with zstd');
  expect(await newRows()).toMatchObject([{ surface: 'responses', outcome: 'completed' }]);
});

test('does not notice that its engine breaks off in mid-stream', async () => {
  const [first, spare] = engines;
  first.set({ script: loop, fault: 'cut', at: { events: 6 } });
  spare.set({ script: loop });
  const seat = newSeat();
  const { code, stdout, stderr } = await ask(seat, 'Write down when the tide turns.');
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(stderr).not.toMatch(/reconnecting|stream error|disconnected/i);
  expect(readFileSync(join(seat.work, 'tides.txt'), 'utf8')).toBe('It turns at 17:42.');
  expect(await newRows()).toMatchObject(loop.map(() => ({ outcome: 'completed' })));
  // The first engine was asked each time, and the other one went on.
  expect([first.requests().length, spare.requests().length]).toEqual([loop.length, loop.length]);
});

test('shortens a long conversation, and goes on with it', async () => {
  for (const engine of engines) engine.set({ script: [end] });
  const seat = newSeat();
  expect((await ask(seat, 'When does the tide turn at Cork?')).code).toBe(0);
  const short = ['-c', 'model_auto_compact_token_limit=2000'];
  const { code, stdout, stderr } = await ask(seat, 'And at Cobh?', [...short, 'resume', '--last']);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  const rows = await newRows();
  expect(rows.length).toBeGreaterThanOrEqual(3);
  expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  // The summary is what the model said when it was asked for one.
  expect(JSON.stringify(engines.map((engine) => engine.requests().at(-1)?.body))).toMatch(
    /summary[^]*That is all there is to it\./i,
  );
});

test('is interrupted, and goes on with the conversation', async () => {
  for (const engine of engines) engine.set({ script: [end], fault: 'stall', at: { events: 4 } });
  const seat = newSeat();
  const ctrlC = new AbortController();
  const running = ask(seat, 'When does the tide turn at Cork?', [], ctrlC.signal);
  await expect.poll(() => engines.some((engine) => engine.openRequests() > 0)).toBe(true);
  ctrlC.abort();
  await running;
  expect(await newRows()).toMatchObject([{ outcome: 'cancelled' }]);
  engines.forEach((engine) => engine.reset());
  for (const engine of engines) engine.set({ script: [end] });
  const { code, stdout, stderr } = await ask(seat, 'And at Cobh?', ['resume', '--last']);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain(end.say);
  expect(JSON.stringify(lastAsked().messages)).toContain('When does the tide turn at Cork?');
  expect(await newRows()).toMatchObject([{ outcome: 'completed' }]);
});
