// @suite long
import { afterAll, expect, test } from 'vitest';
import { type Library, pinnedLibraries } from './clients.ts';
import { conversation, structured } from './conversation.ts';
import { installPinned } from './install.ts';
import { makeFolders, modelNameOf, openStage, removeFolders, seatAt, talkThrough } from './stage.ts';
import { forFile } from '../support/for-file.ts';

afterAll(() => removeFolders());
const installed = await installPinned();
const stage = await forFile(
  openStage(Object.fromEntries(pinnedLibraries.map((library) => [modelNameOf(library), { words: 12 }]))),
);

const models = pinnedLibraries.map((library) => `test/${modelNameOf(library)}`);
const official = {
  ...{ ...conversation, structured, models: expect.arrayContaining(models) },
  requestId: expect.stringMatching(/^[\w-]{20,}$/),
  cost: expect.any(Number),
  errors: {
    ...{ key: 'AuthenticationError', model: 'BadRequestError', request: 'BadRequestError', path: 'NotFoundError' },
    engine: 'InternalServerError',
  },
};
const expected: Readonly<Record<string, object>> = {
  ...{ openai: official, anthropic: official, '@anthropic-ai/sdk': official, '@openai/agents': conversation },
  ...{ 'langchain-openai': { ...conversation, structured }, 'langchain-anthropic': { ...conversation, structured } },
  'pydantic-ai-slim': { ...conversation, structured },
};

const sdks: ReadonlySet<string> = new Set(['openai', 'anthropic', '@anthropic-ai/sdk']);

const rows = pinnedLibraries.map((library): readonly [string, Library] => [
  ...([`${library.name} (${library.registry})`, library] as const),
]);
test.each(rows)('%s streams and calls tools, and what it is told of errors, ids and cost holds', async (_, library) => {
  const model = `test/${modelNameOf(library)}`;
  const place = { place: makeFolders(), model, installed: installed[library.registry] };
  const said = await talkThrough(stage.weir, library, seatAt(stage.weir, place));
  const further = {
    ...(sdks.has(library.name) && { retrieved: model }),
    ...(library.name.includes('anthropic') && sdks.has(library.name) && { counted: expect.any(Number) as number }),
  };
  expect(said).toEqual({ ...expected[library.name], ...further });
  const { text: whole, streamed, requestId, cost } = said as Readonly<Record<string, unknown>>;
  expect(streamed).toBe(whole);
  const rows = (await stage.weir.ledger()).filter((row) => row['model'] === model);
  expect(rows.filter(({ outcome }) => outcome === 'completed').length).toBeGreaterThanOrEqual(4);
  const billed = rows.filter((row) => row['correlation_id'] === requestId).map((row) => Number(row['cost']));
  expect(billed).toEqual(cost === undefined ? [] : [cost]);
});
