// @suite long
import { afterAll, expect, test } from 'vitest';
import { pinnedLibraries } from './clients.ts';
import { installPinned } from './install.ts';
import { makeFolders, openStage, removeFolders, seatAt, talkThrough } from './stage.ts';
import { forFile } from '../support/for-file.ts';

const end = 'I do not know it.';

afterAll(() => removeFolders());
const installed = await installPinned();
const call = { say: '', call: [{ name: 'get_tyde', arguments: '{"harbour":"Cork"}' }] };
const stage = await forFile(openStage({ misled: { script: [call, { say: end, call: [] }] } }));

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
