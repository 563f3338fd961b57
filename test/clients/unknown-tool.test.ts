// @suite long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pinnedLibraries } from './clients.ts';
import { type Installation, installPinned } from './install.ts';
import { makeFolders, openStage, removeFolders, seatAt, type Stage, talkThrough } from './stage.ts';

const end = 'I do not know it.';

let installed: Installation;
let stage: Stage;
beforeAll(async () => {
  installed = await installPinned();
  const call = { say: '', call: [{ name: 'get_tyde', arguments: '{"harbour":"Cork"}' }] };
  stage = await openStage({ misled: { script: [call, { say: end, call: [] }] } });
});
afterAll(async () => {
  await stage.close();
  removeFolders();
});

test('Pydantic AI gets the call of a tool that was not offered, and tells its model so', async () => {
  const library = pinnedLibraries.find(({ name }) => name === 'pydantic-ai-slim') ?? expect.fail('it is not pinned');
  const seat = seatAt(stage.weir, { place: makeFolders(), model: 'test/misled', installed: installed.pypi });
  expect(await talkThrough(stage.weir, library, seat, 'unknown_tool')).toEqual({ text: end });
  const { messages } = Object(stage.engine.requests().at(-1)?.body) as { readonly messages: readonly object[] };
  expect(messages.slice(1)).toMatchObject([
    { role: 'assistant', tool_calls: [{ function: { name: 'get_tyde' } }] },
    { role: 'tool', content: expect.stringMatching(/unknown tool.*get_tyde/i) as string },
  ]);
  expect((await stage.weir.ledger()).map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
});
