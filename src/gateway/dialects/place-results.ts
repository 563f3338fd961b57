import type { Content, Message, ToolCall } from '../../core/request.ts';
import { webSearchName } from '../../core/web-search.ts';
import { contentOf, contentText, type Part, paragraphs, textPart } from './content.ts';
import { wholeArguments } from './custom-tools.ts';
import { type HistoryMessage, shownNext, strayHeading } from './tool-result.ts';

type Result = Extract<HistoryMessage, { readonly role: 'tool' }>;

/** A call of an earlier turn, with its results. More than one: the client has sent it again. */
interface Called {
  readonly call: ToolCall;
  readonly results: Result[];
}

/** The calls that have the same id. Some engines, and the first form of tools, use an id again. */
interface SameId {
  /** The calls without a result. The next one to get a result is the last one: the first of the latest turn. */
  readonly open: Called[];
  latest: Called | undefined;
  /** Results that came before their call. */
  readonly early: Result[];
}

/** The result of a call that has none, because the client was interrupted. Engines and chat templates demand one for every call. */
const noResult = 'Error: this call has no result.';

/**
 * Arranges the calls and results of a history as engines demand it: the results right after their calls, in the order of the calls, and
 * then everything that stood between. A result belongs to the latest call before it that has its id and no result yet; one that comes
 * before its call waits for it. A call without a result gets a sentence, unless the history ends with calls that all wait. Images of
 * results, and results without a call, go to the beginning of the user's message that follows. Arguments become whole objects.
 */
export function placeResults(messages: readonly HistoryMessage[]): readonly Message[] {
  const { calledBy, placed } = matchResults(messages);
  const lastTurn = messages.findLast((message) => !placed.has(message));
  const arranged: Message[] = [];
  /** Images of results, and results without a call, that wait for the user's message. */
  const waiting: Part[] = [];

  function pushResult({ images = [], ...result }: Result): void {
    arranged.push(result);
    waiting.push(...images);
  }

  for (const message of messages) {
    if (message.role === 'tool') {
      if (!placed.has(message)) waiting.push(...strayParts(message, waiting.length > 0));
      continue;
    }
    if (message.role === 'system') {
      arranged.push(message);
      continue;
    }
    const shown = waiting.length === 0 ? [] : [contentOf(waiting.splice(0))];
    if (message.role === 'user') {
      arranged.push(shown.length === 0 ? message : { ...message, content: paragraphs([...shown, message.content]) });
      continue;
    }
    arranged.push(...shown.map((content) => ({ role: 'user' as const, content })));
    const called = calledBy.get(message) ?? [];
    // Chat templates expect a text where the model called no tool.
    if (called.length === 0) arranged.push({ ...message, content: message.content ?? '' });
    else arranged.push({ ...message, toolCalls: called.map(({ call }) => call) });
    // The service itself adds the results of searches.
    const waits = message === lastTurn && called.every(({ call, results }) => results.length === 0 || isSearch(call));
    for (const { call, results } of called) {
      if (results.length > 0 || !waits) pushResult(joinResults(call.id, results));
    }
  }
  if (waiting.length > 0) arranged.push({ role: 'user', content: contentOf(waiting) });
  return arranged;
}

function strayParts({ tool, content, images = [] }: Result, isParagraph: boolean): readonly Part[] {
  const said = content === shownNext ? '' : contentText(content);
  const text = `${isParagraph ? '\n\n' : ''}${strayHeading(tool)}\n${said}`;
  return [textPart(text), ...images.filter(({ type }) => type === 'image')];
}

const isSearch = ({ name }: ToolCall): boolean => name === webSearchName;

interface Matches {
  readonly calledBy: ReadonlyMap<HistoryMessage, readonly Called[]>;
  /** The results that belong to a call. */
  readonly placed: ReadonlySet<HistoryMessage>;
}

function matchResults(messages: readonly HistoryMessage[]): Matches {
  const calledBy = new Map<HistoryMessage, readonly Called[]>();
  const placed = new Set<HistoryMessage>();
  const byId = new Map<string, SameId>();

  function sameId(id: string): SameId {
    return byId.getOrInsertComputed(id, () => ({ open: [], latest: undefined, early: [] }));
  }
  function give(called: Called | undefined, result: Result): void {
    if (called === undefined) return;
    called.results.push(result);
    placed.add(result);
  }

  for (const message of messages) {
    if (message.role === 'tool') {
      const same = sameId(message.toolCallId);
      if (same.latest === undefined) same.early.push(message);
      else give(same.open.pop() ?? same.latest, message);
    } else if (message.role === 'assistant') {
      const all = (message.toolCalls ?? []).map(({ arguments: text, ...call }): Called => ({
        call: { ...call, arguments: wholeArguments(text) },
        results: [],
      }));
      calledBy.set(message, all);
      for (const called of all.toReversed()) sameId(called.call.id).open.push(called);
      for (const called of all) {
        const same = sameId(called.call.id);
        same.latest = called;
        for (const result of same.early.splice(0, 1)) give(same.open.pop(), result);
      }
    }
  }
  return { calledBy, placed };
}

/** One result of all that were sent for a call. The same result twice counts once. */
function joinResults(toolCallId: string, results: readonly Result[]): Result {
  const different = new Map(results.map((result) => [results.length === 1 ? '' : JSON.stringify(result), result]));
  const contents: readonly Content[] = [...different.values()].map(({ content }) => content);
  return {
    role: 'tool',
    toolCallId,
    content: contents.length === 0 ? noResult : paragraphs(contents),
    images: [...different.values()].flatMap(({ images = [] }) => images),
  };
}
