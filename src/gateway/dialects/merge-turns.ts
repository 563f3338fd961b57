import type { Message } from '../../core/request.ts';
import { paragraphs } from './content.ts';
import { placeResults } from './place-results.ts';
import type { HistoryMessage } from './tool-result.ts';

type AssistantTurn = Extract<Message, { role: 'assistant' }>;

function mergeAssistantTurns(turns: readonly AssistantTurn[]): Message {
  const contents = turns.flatMap(({ content }) => (content === undefined ? [] : [content]));
  const texts = contents.map((content) => (typeof content === 'string' ? content : '')).filter((text) => text !== '');
  const reasoning = turns.map((turn) => turn.reasoning ?? '').join('');
  const toolCalls = turns.flatMap((turn) => turn.toolCalls ?? []);
  return {
    role: 'assistant',
    content: contents.length === 0 ? undefined : texts.join('\n\n'),
    reasoning: reasoning === '' ? undefined : reasoning,
    toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
    sealedState: turns.findLast(({ sealedState }) => sealedState !== undefined)?.sealedState,
  };
}

/**
 * Merges consecutive turns of the user, and of the assistant, a paragraph each: some formats treat them as one, and chat templates refuse them. A run of
 * turns is merged all at once: turn by turn, fifty thousand of them would take seconds.
 */
function mergeTurns(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const merged: HistoryMessage[] = [];
  for (let at = 0; at < messages.length;) {
    const turns = messages.slice(at, runEnd(messages, at));
    at += turns.length;
    const [first] = turns;
    if (first === undefined || turns.length === 1) merged.push(...turns);
    else if (first.role === 'user') {
      const said = turns.filter((turn) => turn.role === 'user');
      merged.push({ role: 'user', content: paragraphs(said.map(({ content }) => content)) });
    } else if (first.role === 'assistant')
      merged.push(mergeAssistantTurns(turns.filter((turn) => turn.role === 'assistant')));
    else merged.push(...turns);
  }
  return merged;
}

/** The end of the run of turns of one role that begins at `from`. */
function runEnd(messages: readonly HistoryMessage[], from: number): number {
  const role = messages[from]?.role;
  let end = from + 1;
  while (end < messages.length && messages[end]?.role === role) end += 1;
  return end;
}

/** Reads the messages of a format that treats the turns of one role in a row as one. Results that are moved to their calls leave such turns behind. */
export const readTurns = (messages: readonly HistoryMessage[]): readonly Message[] =>
  mergeTurns(placeResults(mergeTurns(messages)));
