// @suite long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Library, responsesLibraries } from './clients.ts';
import { conversation, structured } from './conversation.ts';
import { type Installation, installPinned } from './install.ts';
import { makeFolders, modelNameOf, openStage, removeFolders, seatAt, type Stage, talkThrough } from './stage.ts';

let installed: Installation;
let stage: Stage;
beforeAll(async () => {
  installed = await installPinned();
  stage = await openStage(
    Object.fromEntries(responsesLibraries.map((library) => [modelNameOf(library), { words: 12 }])),
  );
});
afterAll(async () => {
  await stage.close();
  removeFolders();
});

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
