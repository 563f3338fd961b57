import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { ScriptStep } from '../programmable-engine/script.ts';
import { claudeCode } from './agents.ts';
import type { Seat } from './clients.ts';
import { installPinned } from './install.ts';
import { makeFolders, openStage, removeFolders, runClient, seatAt } from './stage.ts';
import { forFile } from '../support/for-file.ts';

const call = (name: string, given: object): ScriptStep['call'][number] => ({
  ...{ name, arguments: JSON.stringify(given) },
});
const tideAtCork = 'mcp__tides__tide_at_cork';
const end = { say: 'That is all there is to it.', call: [] };

/** What the model of each conversation says and calls. */
const scripts = {
  'tool-search': [
    { say: '', call: [call('ToolSearch', { query: `select:${tideAtCork}` })] },
    { say: '', call: [call(tideAtCork, { day: 'monday' })] },
    end,
  ],
  'reads-files': [
    { say: '', call: [call('Read', { file_path: 'red.png' }), call('Read', { file_path: 'tides.pdf' })] },
    end,
  ],
  'structured-output': [{ say: '', call: [call('StructuredOutput', { harbour: 'Cork', minutes: 17 })] }, end],
};

afterAll(() => removeFolders());
const installed = await installPinned();
const stage = await forFile(
  openStage(Object.fromEntries(Object.entries(scripts).map(([name, script]) => [name, { script }]))),
);

const line = z.object({
  type: z.string(),
  subtype: z.string().optional(),
  is_error: z.boolean().optional(),
  result: z.string().optional(),
  structured_output: z.unknown().optional(),
});

/** Runs the agent with one prompt and resolves to the result that it reports; it has had no error. */
async function ask(
  seat: Seat,
  prompt: string,
  more: { readonly parameters?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<z.infer<typeof line>> {
  const { command, env } = claudeCode.launch(seat, prompt);
  const launch = { command: [...command, ...(more.parameters ?? [])], env: { ...env, ...more.env } };
  const { code, stdout, stderr } = await runClient(stage.weir, launch, seat);
  expect(code, stdout + stderr).toBe(0);
  const result = line.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
  expect(result, stdout).toMatchObject({ subtype: 'success', is_error: false });
  return result;
}

const seatFor = (conversation: keyof typeof scripts): Seat =>
  seatAt(stage.weir, { place: makeFolders(), model: `test/${conversation}`, installed: installed.npm });

const request = z.object({
  model: z.string(),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })),
});

/** What the engine was asked in a conversation, in order. */
const requestsOf = (conversation: keyof typeof scripts): readonly z.infer<typeof request>[] =>
  stage.engine
    .requests()
    .map(({ body }) => request.parse(body))
    .filter(({ model }) => model === `demo-${conversation}`);

async function expectBilled(conversation: keyof typeof scripts, requests: number): Promise<void> {
  const rows = (await stage.weir.ledger()).filter(({ model }) => model === `test/${conversation}`);
  expect(rows.map(({ outcome }) => outcome)).toEqual(Array.from({ length: requests }, () => 'completed'));
}

test('finds one of 22 deferred tools by its tool search, and calls it', async () => {
  const server = { command: process.execPath, args: [join(import.meta.dirname, 'programs', 'tide-tables.mjs')] };
  const result = await ask(seatFor('tool-search'), 'When does the tide turn at Cork?', {
    parameters: [
      ...['--strict-mcp-config', '--mcp-config', JSON.stringify({ mcpServers: { tides: server } })],
      ...['--allowedTools', tideAtCork],
    ],
    env: { ENABLE_TOOL_SEARCH: 'true' },
  });
  expect(result.result).toBe(end.say);
  const requests = requestsOf('tool-search');
  const harbours = requests.map(({ tools }) =>
    tools.map((tool) => tool.function.name).filter((name) => name.startsWith('mcp__tides__')),
  );
  expect(harbours).toEqual([[], [tideAtCork], [tideAtCork]]);
  expect(requests[2]?.messages.at(-1)).toMatchObject({
    ...{ role: 'tool', content: expect.stringContaining('At cork on monday the tide turns at 17:42.') },
  });
  await expectBilled('tool-search', 3);
});

// 16 by 16 points in red.
const png =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGM4ISdHEmIY1TCqYfhqAADkYgQQ60fIxgAAAABJRU5ErkJggg==';
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Size 4/Root 1 0 R>>
%%EOF
`;

test('goes on after it has read an image and a PDF that its model cannot take, in a later turn, too', async () => {
  const seat = seatFor('reads-files');
  writeFileSync(join(seat.work, 'red.png'), Buffer.from(png, 'base64'));
  writeFileSync(join(seat.work, 'tides.pdf'), pdf);
  const looked = await ask(seat, 'Look at red.png and tides.pdf.');
  expect(looked.result).toBe(end.say);
  const read = JSON.stringify(requestsOf('reads-files')[1]?.messages);
  expect(read).toContain('An image (image/png) stood here. This model cannot read it.');
  expect(read).toContain('A document (application/pdf) stood here. This model cannot read it.');

  const later = await ask(seat, 'And again.', { parameters: ['--continue'] });
  expect(later.result).toBe(end.say);
  const [, , third] = requestsOf('reads-files');
  expect(third?.messages.length).toBeGreaterThan(6);
  expect(JSON.stringify(third?.messages)).toContain('A document (application/pdf) stood here.');
  await expectBilled('reads-files', 4);
});

test('has its structured output', async () => {
  const schema = {
    type: 'object',
    properties: { harbour: { type: 'string' }, minutes: { type: 'integer' } },
    required: ['harbour', 'minutes'],
  };
  const result = await ask(seatFor('structured-output'), 'When does the tide turn?', {
    parameters: ['--json-schema', JSON.stringify(schema)],
  });
  expect(result.structured_output).toEqual({ harbour: 'Cork', minutes: 17 });
  expect(requestsOf('structured-output')[0]?.tools.map((tool) => tool.function.name)).toContain('StructuredOutput');
});
