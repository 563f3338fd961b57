import type { Message } from '../../../core/request.ts';
import { readTurns } from '../merge-turns.ts';
import type { HistoryMessage } from '../tool-result.ts';
import { readAssistantTurn } from './read-assistant-turn.ts';
import { readUserTurn } from './read-user-turn.ts';
import type { MessagesBody, WireMessage } from './schema.ts';
import type { SearchReader } from './search-blocks.ts';

/** Reads the conversation of a body, its system text first. */
export function readMessages(
  { system, messages }: Pick<MessagesBody, 'system' | 'messages'>,
  { searches, keepsBillingLines }: { readonly searches: SearchReader; readonly keepsBillingLines: boolean },
): readonly Message[] {
  const text = keepsBillingLines ? system : withoutBillingLine(system);
  const first = text === undefined || text === null ? [] : [systemTurn(text)];
  const lasting = lastingTurns(messages);
  const turns = messages.flatMap((turn, at) => (lasting.has(turn) ? readTurn(turn, at, searches) : []));
  return [...first, ...readTurns(turns)];
}

type SystemContent = Extract<WireMessage, { role: 'system' }>['content'];

function systemTurn(content: SystemContent): Message {
  if (typeof content === 'string') return { role: 'system', content };
  const texts = content.map((block) => (block.type === 'text' ? block.text : ''));
  return { role: 'system', content: texts.join('') };
}

function readTurn({ role, content }: WireMessage, at: number, searches: SearchReader): readonly HistoryMessage[] {
  switch (role) {
    case 'system':
      // The changes that a system turn makes to the tools are read in read-tools.ts.
      return [systemTurn(content)].filter((turn) => turn.content !== '');
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : readUserTurn(content);
    case 'assistant':
      return typeof content === 'string'
        ? [{ role, content }]
        : readAssistantTurn(content, { searches, path: ['messages', at, 'content'] });
  }
}

type SystemText = MessagesBody['system'];

/** A line that a coding agent writes at the beginning of its system text, for the billing of its own vendor. */
const billingLine = /^x-[a-z-]+-billing-header:[^\n]*(?:\n+|$)/i;

/**
 * Removes the billing line of a coding agent. It means nothing to a model, and it differs in every session, so that no two sessions
 * would share a cached prefix.
 */
function withoutBillingLine(system: SystemText): SystemText {
  if (typeof system === 'string') return billingLine.test(system) ? system.replace(billingLine, '') || null : system;
  const [first, ...others] = system ?? [];
  if (first === undefined || !billingLine.test(first.text)) return system;
  const text = first.text.replace(billingLine, '');
  const rest = text === '' ? others : [{ ...first, text }, ...others];
  return rest.length === 0 ? null : rest;
}

/**
 * The turns that the model gets. A system turn may be meant to last until the user's next turn only. Coding agents send such a reminder
 * with every turn, and the old ones would mislead the model.
 */
function lastingTurns(messages: MessagesBody['messages']): ReadonlySet<WireMessage> {
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user');
  return new Set(
    messages.filter((turn, at) => at > lastOfUser || turn.role !== 'system' || turn.clear_at !== 'next_user_message'),
  );
}
