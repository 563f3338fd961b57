import type { Message, Request } from '../../../core/request.ts';

/**
 * The text of a prompt as its blocks see it. The text of a conversation's next turn begins with this text, as far as its client repeats
 * the turns before. What an engine's template adds is left out, because it is the same for equal texts.
 */
export function promptText({ messages, tools }: Pick<Request, 'messages' | 'tools'>): string {
  let text = tools.length > 0 ? JSON.stringify(tools) : '';
  for (const message of messages) text += textOf(message);
  return text;
}

function textOf(message: Message): string {
  let text = `\n${message.role}\n`;
  if (message.role === 'assistant') {
    text += message.reasoning ?? '';
    for (const { name, arguments: given } of message.toolCalls ?? []) text += `${name} ${given}\n`;
  }
  const { content = '' } = message;
  if (typeof content === 'string') return text + content;
  for (const part of content) text += part.type === 'text' ? part.text : part.url;
  return text;
}
