import type { Message } from '../../core/request.ts';
import { contentOf, paragraphs, type Part, textPart } from '../content.ts';
import { readAssistantTurn } from './read-assistant-turn.ts';
import type { MessagesBody, WireMessage } from './schema.ts';
import type { Unsealing } from './unseal.ts';
import type { UserBlock } from './content-blocks.ts';
import { joinBlocks, readDocument, readFinding, readImage, readResult } from './read-result.ts';

/**
 * Reads the blocks of a user's turn: the answers of tools first, as engines want them right after the calls, then the images among
 * them and whatever the user says.
 */
function readUserTurn(blocks: readonly UserBlock[]): readonly Message[] {
  const results: Message[] = [];
  const images: Part[] = [];
  const said: { readonly parts: readonly Part[]; readonly isApart: boolean }[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        said.push({ parts: [textPart(block.text)], isApart: false });
        break;
      case 'image':
        said.push({ parts: [readImage(block)], isApart: false });
        break;
      case 'document':
        said.push({ parts: readDocument(block), isApart: true });
        break;
      case 'search_result':
        said.push({ parts: [readFinding(block)], isApart: true });
        break;
      case 'tool_result': {
        const read = readResult(block);
        results.push(read.message);
        images.push(...read.images);
        break;
      }
    }
  }
  const shown = images.length === 0 ? [] : [{ parts: images, isApart: true }];
  const parts = joinBlocks([...shown, ...said]);
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }];
}

const joined = (texts: readonly string[]): string => texts.join('');

type SystemContent = Extract<WireMessage, { role: 'system' }>['content'];

function systemTurn(content: SystemContent): Message {
  if (typeof content === 'string') return { role: 'system', content };
  return { role: 'system', content: joined(content.map((block) => (block.type === 'text' ? block.text : ''))) };
}

function readTurn({ role, content }: WireMessage, at: number, unsealing: Unsealing): readonly Message[] {
  switch (role) {
    case 'system':
      // What it says of tools stands among the tools (read-tools.ts).
      return [systemTurn(content)].filter((turn) => turn.content !== '');
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : readUserTurn(content);
    case 'assistant':
      return typeof content === 'string'
        ? [{ role, content }]
        : readAssistantTurn(content, { unsealing, path: ['messages', at, 'content'] });
  }
}

type AssistantTurn = Extract<Message, { role: 'assistant' }>;

function joinAssistantTurns(turns: readonly AssistantTurn[]): Message {
  const contents = turns.flatMap(({ content }) => (content === undefined ? [] : [content]));
  const texts = contents.map((content) => (typeof content === 'string' ? content : '')).filter((text) => text !== '');
  const reasoning = joined(turns.map((turn) => turn.reasoning ?? ''));
  const toolCalls = turns.flatMap((turn) => turn.toolCalls ?? []);
  return {
    role: 'assistant',
    ...(contents.length === 0 ? {} : { content: texts.join('\n\n') }),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/**
 * Turns of the same role that follow each other are one, a paragraph each: this format says so, and chat templates refuse them.
 * They are joined all at once: joined one by one, fifty thousand of them would take seconds.
 */
function joinTurns(messages: readonly Message[]): readonly Message[] {
  const read: Message[] = [];
  for (let at = 0; at < messages.length;) {
    const turns = messages.slice(at, runEnd(messages, at));
    at += turns.length;
    const [first] = turns;
    if (first === undefined || turns.length === 1) read.push(...turns);
    else if (first.role === 'user') {
      const said = turns.filter((turn) => turn.role === 'user');
      read.push({ role: 'user', content: paragraphs(said.map(({ content }) => content)) });
    } else if (first.role === 'assistant')
      read.push(joinAssistantTurns(turns.filter((turn) => turn.role === 'assistant')));
    else read.push(...turns);
  }
  return read;
}

/** Where the turns of one role that begin at `from` end. */
function runEnd(messages: readonly Message[], from: number): number {
  const role = messages[from]?.role;
  let end = from + 1;
  while (end < messages.length && messages[end]?.role === role) end += 1;
  return end;
}

type SystemText = MessagesBody['system'];

/** What a coding agent writes at the very beginning of its system text, for the accounts of its own vendor. */
const billingLine = /^x-[a-z-]+-billing-header:[^\n]*(?:\n+|$)/i;

/**
 * Leaves out the billing line of a coding agent. It says nothing to a model, and it differs from session to session: with it in
 * front, no two sessions would share the beginning of their prompts, and no engine could take one from its cache.
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
 * The turns that a model is shown. A system turn may ask to be shown until the user's next turn only: coding agents send a reminder
 * of this kind with every turn, and a model that saw all of them would take the oldest for the state of things.
 */
function shownTurns(messages: MessagesBody['messages']): ReadonlySet<WireMessage> {
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user');
  return new Set(
    messages.filter((turn, at) => at > lastOfUser || turn.role !== 'system' || turn.clear_at !== 'next_user_message'),
  );
}

/** The conversation of a body, its system text first. */
export function readMessages(
  { system, messages }: Pick<MessagesBody, 'system' | 'messages'>,
  { unsealing, keepsBillingLines }: { readonly unsealing: Unsealing; readonly keepsBillingLines: boolean },
): readonly Message[] {
  const text = keepsBillingLines ? system : withoutBillingLine(system);
  const first = text === undefined || text === null ? [] : [systemTurn(text)];
  const shown = shownTurns(messages);
  const turns = messages.flatMap((turn, at) => (shown.has(turn) ? readTurn(turn, at, unsealing) : []));
  return [...first, ...joinTurns(turns)];
}
