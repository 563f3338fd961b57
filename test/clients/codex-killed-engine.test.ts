// @suite long
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { startLlamaPair } from '../support/llama-pair.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import { backendManifest, endpointsManifest, modelManifest, startWeir } from '../support/weir.ts';
import { codex } from './agents.ts';
import { installPinned } from './install.ts';
import { startRecordingProxy } from './recording-proxy.ts';
import { makeFolders, removeFolders, runClient, seatAt } from './stage.ts';
import { forFile } from '../support/for-file.ts';

// Two real engines. One is killed while the agent reads what it writes. The model is tiny and random: its text means nothing, and ends
// by chance. So an answer is whole if its stream keeps every promise of the format up to `response.completed`, if the agent has exactly
// the text of that stream, and if the gateway counts one continuation and bills one request.

const contextLength = 65_536;
/** Events of text that the agent has got when the engine is killed. */
const heardEvents = 10;
/** An answer that ends before the blow falls does not count. */
const mostRounds = 8;

const noHedging = '  hedging: {mode: Disabled}';

/** Once an answer has so much text. */
let whenHeard: (() => void) | undefined;

afterAll(() => removeFolders());
const installed = (await installPinned()).npm;
const template = ['--chat-template-file', join(import.meta.dirname, 'strict-template.jinja')];
// The end of an answer is likely enough that it comes, and unlikely enough that the engine is killed before.
const long = ['--override-kv', `llama.context_length=int:${contextLength}`, '--logit-bias', '2+14'];
const pair = await forFile(startLlamaPair({ parallel: 1, contextLength, extra: [...template, ...long] }));
const [first, second] = pair.engines();
const manifests = {
  'catalog.yaml': [
    backendManifest('one', first, 'llamacpp'),
    backendManifest('two', second, 'llamacpp'),
    endpointsManifest('both', [first, second], 'llamacpp'),
    modelManifest('test/routes', ['one', 'two'], noHedging),
    modelManifest('test/endpoints', ['both'], noHedging),
  ].join(''),
};
const weir = await forFile(startWeir({ unlimited: true, manifests, env: { WEIR_RESPONSES: 'stateless' } }));
const proxy = await forFile(
  startRecordingProxy(weir.origin, ({ text }) => {
    if (text.split('event: response.output_text.delta').length > heardEvents) whenHeard?.();
  }),
);
beforeEach(() => {
  whenHeard = undefined;
});

interface Told {
  /** The agent's last message, as it wrote it into a file. */
  readonly message: string;
  readonly said: string;
  readonly code: unknown;
}

async function ask(model: string): Promise<Told> {
  const seat = seatAt({ ...weir, origin: proxy.origin }, { place: makeFolders(), model, installed });
  const { command, env } = codex.launch(seat, 'When does the tide turn?');
  const file = join(seat.home, 'last-message.txt');
  // Its own instructions would be half a minute's work for the one thread of each engine.
  const instructions = join(seat.home, 'instructions.md');
  writeFileSync(instructions, 'You know tides.');
  const more = ['-c', `model_instructions_file="${instructions}"`, '--output-last-message', file];
  const launch = { command: [...command.slice(0, -1), ...more, ...command.slice(-1)], env };
  const { code, stdout, stderr } = await runClient(weir, launch, seat);
  return { code, said: stdout + stderr, message: code === 0 ? readFileSync(file, 'utf8') : '' };
}

const resumed = (step: string): Promise<number> => weir.metric('weir_attempts_total', { reason: 'resume', step });

test.each([
  ['endpoints of a backend', 'test/endpoints', 'endpoint'],
  ['routes', 'test/routes', 'route'],
])(
  'the agent has a whole answer when the engine that writes it is killed, one of two %s',
  async (_, model, step) => {
    for (let round = 0; round < mostRounds; round += 1) {
      const before = {
        resumed: await resumed(step),
        rows: (await weir.ledger()).length,
        answers: proxy.answers().length,
      };
      let killing: Promise<0 | 1 | undefined> | undefined;
      whenHeard = () => {
        killing ??= pair.killWriting();
      };
      const { code, said, message } = await ask(model);
      const killed = await killing;
      if (killed !== undefined) await pair.revive(killed);
      expect(code, said).toBe(0);
      expect(said).not.toMatch(/reconnecting|stream error|disconnected/i);
      await weir.settled();
      const answers = proxy.answers().slice(before.answers);
      expect(answers.map(({ path, status }) => [path, status])).toEqual([['/v1/responses', 200]]);
      const { status, output, id } = checkResponsesStream(answers[0]?.text ?? '');
      expect(status).toBe('completed');
      const parts = output.flatMap(({ content }) => content as readonly { readonly text: string }[]);
      expect(message.trim()).toBe(
        parts
          .map(({ text }) => text)
          .join('')
          .trim(),
      );
      // The newest row comes first.
      const all = await weir.ledger();
      const rows = all.slice(0, all.length - before.rows);
      expect(rows).toMatchObject([{ id, surface: 'responses', outcome: 'completed' }]);
      if ((await resumed(step)) === before.resumed) continue;
      expect(rows).toMatchObject([{ attempts: 2, routes: step === 'route' ? 2 : 1 }]);
      console.log(`${model}: killed in round ${round + 1}, ${message.length} characters`);
      return;
    }
    expect.fail(`no answer was long enough in ${mostRounds} rounds`);
  },
  600_000,
);
