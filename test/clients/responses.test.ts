// @suite long
import { afterAll, expect, test } from 'vitest';
import { type Library, responsesLibraries } from './clients.ts';
import { conversation, structured } from './conversation.ts';
import { installPinned } from './install.ts';
import { makeFolders, modelNameOf, openStage, removeFolders, seatAt, talkThrough } from './stage.ts';
import { forFile } from '../support/for-file.ts';

afterAll(() => removeFolders());
const installed = await installPinned();
const stage = await forFile(
  openStage({
    ...Object.fromEntries(responsesLibraries.map((library) => [modelNameOf(library), { words: 12 }])),
    turns: { words: 12, reasoning: 'always' },
  }),
);

const rows = responsesLibraries.map((library): readonly [string, Library] => [
  ...([`${library.name} (${library.registry})`, library] as const),
]);
test.each(rows)('%s streams, calls tools and parses over the responses surface', async (_, library) => {
  const model = `test/${modelNameOf(library)}`;
  const place = { place: makeFolders(), model, installed: installed[library.registry] };
  const said = await talkThrough(stage.weir, library, seatAt(stage.weir, place), 'responses');
  expect(said).toEqual(library.name === '@openai/agents' ? conversation : { ...conversation, structured });
  const { text: whole, streamed } = said as Readonly<Record<string, unknown>>;
  expect(streamed).toBe(whole);
  const rows = (await stage.weir.ledger()).filter((row) => row['model'] === model);
  expect(new Set(rows.map(({ surface, outcome }) => `${String(surface)} ${String(outcome)}`))).toEqual(
    new Set(['responses completed']),
  );
  expect(rows.length).toBeGreaterThanOrEqual(4);
});

test('the provider of the AI SDK sends ids of items in its second turn, gets a clear error, and sends the items with store: false', async () => {
  const library =
    responsesLibraries.find(({ name }) => name === '@ai-sdk/openai') ?? expect.fail('it is not in the list');
  const seat = seatAt(stage.weir, { place: makeFolders(), model: 'test/turns', installed: installed.npm });
  const said = await talkThrough(stage.weir, library, seat, 'ai-sdk-turns');
  const first = expect.stringContaining('When does the tide turn at Cork?');
  expect(said).toEqual({
    asItIs: {
      first,
      error: {
        ...{ name: 'AI_APICallError', statusCode: 400, isRetryable: false },
        message: 'input[1].type: nothing is stored here: send the item itself, as with store: false',
      },
    },
    whole: { first, second: expect.stringContaining('And at Cobh?'), warnings: 0 },
  });
  // The model gets its own words and its own trace.
  const asked = Object(stage.engine.requests().at(-1)?.body) as Readonly<Record<string, unknown>>;
  expect(asked['messages']).toEqual([
    { role: 'user', content: 'When does the tide turn at Cork?' },
    { role: 'assistant', content: first, reasoning: expect.stringMatching(/./) },
    { role: 'user', content: 'And at Cobh?' },
  ]);
});
