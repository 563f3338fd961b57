import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { untilQuick } from '../support/until-quick.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engines = await forFile(
  Promise.all([startProgrammableEngine({ name: 'alpha' }), startProgrammableEngine({ name: 'beta' })] as const),
);
const weir = await forFile(startWeir({ engines }));
beforeEach(() => {
  for (const engine of engines) engine.reset();
});

/** Well below the second for which Envoy by default keeps a connection that it has given up. */
const boundMs = 500;

/** Good answers, so that the faults of these tests do not add up to an engine that is not asked any more. */
async function restore(): Promise<void> {
  for (let request = 0; request < 4; request += 1) await weir.client().chat.completions.create(ask);
}

const ask = { model: 'test/model', messages: [{ role: 'user' as const, content: 'Go on. [[words=40]]' }] };
const endings = ['cut', 'reset', 'truncate', 'end', 'error-then-cut', 'malformed-then-cut'] as const;

test.each(endings)('an answer in one piece that breaks off (%s) comes from the other engine at once', async (fault) => {
  const run = async () => weir.client().chat.completions.create({ ...ask, seed: 1 });
  const whole = await run();
  const prepare = async (): Promise<void> => {
    for (const engine of engines) engine.reset();
    await restore();
    for (const engine of engines) engine.reset();
    engines[0].set({ fault, at: { events: 3 } });
  };
  const again = await untilQuick({ boundMs, prepare, run });
  expect(engines.map((engine) => engine.requests().length)).toEqual([1, 1]);
  expect(again.choices).toEqual(whole.choices);
});

test.each(endings)('a stream that breaks off (%s) never stands still nor ends as if it were whole', async (fault) => {
  const prepare = async (): Promise<void> => {
    for (const engine of engines) engine.reset();
    await restore();
    for (const engine of engines) engine.set({ fault, at: { events: 20 } });
  };
  const text = await untilQuick({
    boundMs,
    prepare,
    run: async () => (await weir.chat({ ...ask, stream: true })).text(),
  });
  expect(text).toContain('"code":"stream_interrupted"');
  expect(text.match(/"finish_reason":"[^"]*"/g)).toEqual(['"finish_reason":"error"']);
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});
