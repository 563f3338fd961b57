import type { SystemMessages } from '../core/capability.ts';
import type { Message, Tool, ToolCall } from '../core/request.ts';
import type { Prompt, TokenizerBounds } from '../core/prompt.ts';
import type { ChatTemplate } from './chat-template.ts';
import type { TextCounter } from './text-counter.ts';

const user: Message = { role: 'user', content: 'a' };
const answer: Message = { role: 'assistant', content: 'a', reasoning: 'a' };
const call = (id: string): ToolCall => ({ id, name: 'a', arguments: '{}' });
const tool = (name: string): Tool => ({ name, description: 'a', parameters: { type: 'object', properties: {} } });
const calling = (count: number): readonly Message[] => [
  user,
  { role: 'assistant', toolCalls: Array.from({ length: count }, (_, index) => call(`abcdefgh${index}`)) },
  ...Array.from({ length: count }, (_, index): Message => ({
    role: 'tool',
    toolCallId: `abcdefgh${index}`,
    content: 'a',
  })),
];

/**
 * Measures what a template writes of its own accord, by rendering small prompts and taking differences. Doubled, with
 * room for a few words: conditions on the place of a message change a little. Undefined when not even the smallest prompt
 * can be rendered; a template that knows no tools is measured without.
 */
export function measureTemplate(
  render: ChatTemplate,
  counter: TextCounter,
): Required<NonNullable<TokenizerBounds['template']>> | undefined {
  const count = (messages: readonly Message[], tools: readonly Tool[] = []): number | undefined => {
    const prompt: Prompt = { messages, tools };
    try {
      const counted = counter.begin(render(prompt), Number.POSITIVE_INFINITY).step(() => false);
      return counted?.kind === 'counted' ? counted.tokens : undefined;
    } catch {
      return undefined;
    }
  };
  const difference = (more: number | undefined, less: number | undefined): number =>
    more === undefined || less === undefined ? 0 : Math.max(0, more - less);
  const room = (tokens: number): number => tokens * 2 + 16;

  const least = count([user]);
  if (least === undefined) return undefined;
  const oneTool = count([user], [tool('a')]);
  const oneCall = count(calling(1), [tool('a')]) ?? count(calling(1));
  const twoCalls = count(calling(2), [tool('a')]) ?? count(calling(2));
  return {
    base: room(least),
    perMessage: room(
      Math.max(
        difference(count([user, answer, user]), least),
        difference(count([{ role: 'system', content: 'a' }, user]), least),
        difference(oneCall, oneTool ?? least),
      ),
    ),
    tools: {
      base: room(difference(oneTool, least)),
      perTool: room(difference(count([user], [tool('a'), tool('b')]), oneTool)),
      perCall: room(difference(twoCalls, oneCall)),
    },
  };
}

/**
 * Where a template takes system messages, found by rendering one in the middle of a conversation: a template that refuses it, or
 * that leaves its text out, takes leading ones only.
 */
export function placeSystemMessages(render: ChatTemplate): SystemMessages {
  const later = 'system-message-in-the-middle';
  const messages: readonly Message[] = [
    { role: 'system', content: 'a' },
    user,
    { role: 'assistant', content: 'a' },
    user,
    { role: 'system', content: later },
  ];
  try {
    return render({ messages, tools: [] }).includes(later) ? 'Anywhere' : 'Leading';
  } catch {
    return 'Leading';
  }
}
