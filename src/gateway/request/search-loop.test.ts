/** Searches of the web over all rounds of an answer. */
import { expect, it } from 'vitest';
import { ask, begin, chunk, done, expectClean, head } from '../../../test/support/pipeline-run.ts';
import type { WebSearch } from './search-loop.ts';

const price = 7n;

/** Answers a request in rounds with so many searches each, and then with a text. */
async function answerIn(rounds: readonly number[], maxUses: number | undefined) {
  const queries: string[] = [];
  const search = {
    ...{ price, seal: { sealNumber: String, sealSource: String, openNumber: () => undefined } },
    provider: {
      name: 'fake',
      search: ({ query }: { readonly query: string }) => {
        queries.push(query);
        return Promise.resolve({ kind: 'found', hits: [] });
      },
    },
  };
  const run = begin({ search: search as unknown as WebSearch });
  const exchange = run.send({
    path: '/v1/messages',
    body: JSON.stringify({
      ...{ model: 'demo/tiny', max_tokens: 1_000, stream: true, messages: ask.messages },
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: maxUses }],
    }),
  });
  for (const [round, searches] of [...rounds, 0].entries()) {
    const engine = await run.upstream.called(round);
    head(engine);
    const calls = Array.from({ length: searches }, (_, index) => ({
      ...{ index, id: `c${index}`, type: 'function' },
      function: { name: 'web_search', arguments: JSON.stringify({ query: `q${round}.${index}` }) },
    }));
    engine.data(searches > 0 ? chunk({ tool_calls: calls }) : chunk({ role: 'assistant', content: 'Done.' }));
    engine.data(chunk({}, searches > 0 ? 'tool_calls' : 'stop') + done);
    engine.end();
  }
  await exchange.answered;
  return { run, exchange, queries };
}

it.each<[readonly number[], number | undefined, number]>([
  [[1], undefined, 1],
  [[2, 2], undefined, 4],
  [[1, 1, 1], 2, 2],
  [[2, 2], 3, 3],
  [[3], 1, 1],
  [[1, 2, 1], 1, 1],
])('rounds of %j searches with a maximum of %s make %i of them, and bill these', async (rounds, maxUses, made) => {
  const { run, exchange, queries } = await answerIn(rounds, maxUses);
  expect({ status: exchange.status(), queries: queries.length }).toEqual({ status: 200, queries: made });
  expect(run.store.outcomes).toMatchObject([{ kind: 'completed', usage: { webSearches: made } }]);
  expect(exchange.text().split('max_uses_exceeded').length - 1).toBe(
    rounds.reduce((sum, count) => sum + count, 0) - made,
  );
  await expectClean(run, 1);
});
