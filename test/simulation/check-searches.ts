import type { RequestEvent } from './events.ts';
import type { ExpectedAnswer } from './expected-answer.ts';
import type { HeardRound } from './heard-rounds.ts';
import { type JsonObject, objectOr, parsedOr, stringOr } from '../programmable-engine/json-value.ts';
import type { ReceivedAnswer } from './received-choice.ts';
import { beforeBegunMark, citedIn, outcomeIn, pagesOf, withoutMarks } from './searches.ts';

const searchTool = 'web_search';

/** The queries that a round asks for. A round that the cap has cut asks for none. */
const queriesIn = ({ said }: HeardRound): readonly string[] =>
  said.finishReason === 'length'
    ? []
    : said.calls
        .filter(({ name }) => name === searchTool)
        .map(({ arguments: json }) => stringOr(objectOr(parsedOr(json))['query'], ''));

/** The text of a round. One that the cap has cut ends before a mark that has only begun. */
function textIn({ said: { content, calls, finishReason } }: HeardRound): string {
  const text = content as string;
  return finishReason === 'length' && calls.length === 0 ? beforeBegunMark(text) : text;
}

/** The answer that follows from what engines say in the rounds of a request. `sources`: how many were found. */
export function answerOfRounds(rounds: readonly HeardRound[], sources: number): ExpectedAnswer {
  const isOfCaller = ({ name }: { readonly name: string }): boolean => name !== searchTool;
  const last = rounds.at(-1)?.said;
  return {
    promptTokens: rounds.reduce((sum, { promptTokens }) => sum + Math.max(...promptTokens), 0),
    completionTokens: rounds.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
    lengths: rounds.map(({ completionTokens }) => completionTokens),
    choices: [
      {
        reasoning: rounds.map(({ said }) => said.reasoning).join(''),
        content: rounds.map((round) => withoutMarks(textIn(round), sources)).join(''),
        calls: rounds.flatMap(({ said }) => said.calls.filter(isOfCaller)),
        ...{ reasoningOpened: false, echo: '', refusal: '', matchedStop: null },
        finishReason: last?.finishReason ?? 'stop',
      },
    ],
  };
}

/** Whether two lists are equal. A list that is not whole is a beginning of the other one. */
const agree = (got: readonly string[], wanted: readonly string[], isWhole: boolean): boolean =>
  JSON.stringify(got) === JSON.stringify(isWhole ? wanted : wanted.slice(0, got.length));

/** The sources of an answer so far, by number from 1 on. */
export const sourcesOf = ({ searches }: ReceivedAnswer): readonly string[] =>
  searches.flatMap(({ result }) => (result === 'open' || result === 'error' ? [] : result));

/** How many searches of an answer have a result. Each of them is billed. */
export const foundIn = ({ searches }: ReceivedAnswer): number =>
  searches.filter(({ result }) => result !== 'open' && result !== 'error').length;

/** What is wrong with the searches of an answer. */
export function searchFaults(
  { search }: Pick<RequestEvent, 'search'>,
  answer: ReceivedAnswer,
  {
    rounds,
    earlier,
    found,
    isProviderUp,
  }: {
    readonly rounds: readonly HeardRound[];
    /** The sources that the caller has sent back. */
    readonly earlier: readonly string[];
    /** How often the provider has found something for a query. */
    readonly found: (query: string) => number;
    /** Whether the provider was in order, and could be reached, all the time. */
    readonly isProviderUp: boolean;
  },
): readonly string[] {
  const faults: string[] = [];
  const isWhole = answer.end === 'whole';
  const most = search?.maxUses ?? Infinity;
  const queries = answer.searches.map(({ query }) => query);
  const wanted = rounds.flatMap(queriesIn);
  if (!agree(queries, wanted, isWhole))
    faults.push(`searches for ${queries.join(', ')} in place of ${wanted.join(', ')}`);
  if (foundIn(answer) > most) faults.push(`${foundIn(answer)} searches where ${most} are allowed`);
  for (const [at, { query, result }] of answer.searches.entries()) {
    if (result === 'open' && isWhole) faults.push(`search ${at} has no result`);
    if (result === 'error' && isProviderUp && at < most && isGood(query)) faults.push(`search ${at} has failed`);
    if (result === 'open' || result === 'error') continue;
    const urls = pagesOf(query).map(({ url }) => url);
    if (!agree(result, urls, true)) faults.push(`search ${at} has found ${result.join(', ')}`);
    if (found(query) === 0) faults.push(`search ${at} has a result that the provider did not give`);
  }
  const sources = [...earlier, ...sourcesOf(answer)];
  const cited = rounds.flatMap((round) =>
    citedIn(textIn(round), sources.length).map((number) => sources[number - 1] ?? ''),
  );
  if (!agree(answer.citations, cited, isWhole))
    faults.push(`cites ${answer.citations.join(', ')} in place of ${cited.join(', ')}`);
  const told = toldSearches(answer.usage);
  if (isWhole && told !== undefined && told !== foundIn(answer))
    faults.push(`the usage has ${told} searches in place of ${foundIn(answer)}`);
  return faults;
}

/** Whether a provider that is in order answers a query with a result, at the latest when it is asked again. */
const isGood = (query: string): boolean =>
  (['found', 'nothing', 'slow', 'fails-once'] as const).some((outcome) => outcome === outcomeIn(query));

/** The searches in a usage, as either surface has them. */
function toldSearches(usage: JsonObject | undefined): number | undefined {
  const { server_tool_use: ofMessages, tool_usage: ofResponses } = usage ?? {};
  const count =
    objectOr(ofMessages)['web_search_requests'] ?? objectOr(objectOr(ofResponses)['web_search'])['num_requests'];
  return typeof count === 'number' ? count : undefined;
}

/** What is wrong with the conversation that goes on from an earlier answer: the model reads again what it had said and found. */
export function historyFaults(
  [first]: readonly HeardRound[],
  earlier: {
    readonly rounds: readonly HeardRound[];
    readonly answer: ReceivedAnswer;
    /** Whether the next answer has citations. An answer in JSON has none, and the model then sees none. */
    readonly isCited: boolean;
  },
): readonly string[] {
  if (first === undefined) return [];
  const marked = earlier.rounds.map(textIn).join('');
  const texts = (role: string): string =>
    first.history
      .filter((message) => message.role === role)
      .map(({ text }) => text)
      .join('');
  const said = earlier.isCited ? marked : withoutMarks(marked, sourcesOf(earlier.answer).length);
  const found = earlier.answer.searches.flatMap(({ query, result }) =>
    result === 'open' || result === 'error' ? [] : pagesOf(query).flatMap(({ url, content }) => [url, content]),
  );
  return [
    ...found.filter((piece) => !texts('tool').includes(piece)).map((piece) => `the model does not get ${piece} again`),
    ...(texts('assistant').endsWith(said) ? [] : [`the model had said ${said}, and gets ${texts('assistant')}`]),
  ];
}

/** What is wrong with the conversation that a later round begins with: it has what was said and found before. */
export function turnFaults(rounds: readonly HeardRound[]): readonly string[] {
  return rounds.flatMap(({ turns }, round) => {
    const wanted = rounds
      .slice(0, round)
      .flatMap((earlier) => [
        { role: 'assistant', holds: [textIn(earlier), ...queriesIn(earlier)] },
        ...queriesIn(earlier).map((query) => ({ role: 'tool', holds: resultIn(turns, query) })),
      ]);
    if (turns.length !== wanted.length)
      return [`round ${round} has ${turns.length} turns in place of ${wanted.length}`];
    return wanted.flatMap(({ role, holds }, at) => {
      const { text, calls, role: got } = turns[at] ?? { text: '', calls: '', role: '' };
      const lacks = holds.find((piece) => !text.includes(piece) && !calls.includes(piece));
      return got === role && lacks === undefined
        ? []
        : [`turn ${at} of round ${round} is ${got} ${text.slice(0, 80)} without ${lacks}`];
    });
  });
}

/** The pages of a search as a model reads them, or nothing where the search has failed. */
function resultIn(turns: HeardRound['turns'], query: string): readonly string[] {
  const pages = pagesOf(query);
  const isFound = turns.some(({ role, text }) => role === 'tool' && pages.some(({ url }) => text.includes(url)));
  return isFound ? pages.flatMap(({ url, content }) => [url, content]) : [];
}

/** The prompt tokens that the rounds can have together. */
export function promptSums(rounds: readonly HeardRound[]): ReadonlySet<number> {
  let sums = new Set([0]);
  for (const { promptTokens } of rounds)
    sums = new Set([...sums].flatMap((sum) => [...promptTokens].map((tokens) => sum + tokens)));
  return sums;
}
