import { hash } from 'node:crypto';
import type { BlockContents } from '../../core/pool-prompt.ts';
import type { Message, Request } from '../../core/request.ts';

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

/**
 * Blocks are finer at the start, where prompts part most often, and coarser far behind it, because each digest has a price of its own:
 * up to so many characters, blocks have this length.
 */
const sizes = [
  { until: 1024, size: 256 },
  { until: 16 * 1024, size: 1024 },
  { until: 64 * 1024, size: 2048 },
  { until: Infinity, size: 4096 },
] as const;

/** Where the blocks of a text of this length end. The end of the text is part of no block until it fills one. */
export function blockEnds(length: number): readonly number[] {
  const ends: number[] = [];
  let at = 0;
  for (const { until, size } of sizes) {
    for (; at < until && at + size <= length; at += size) ends.push(at + size);
    if (at < until) break;
  }
  return ends;
}

/** Digests a prompt's text block by block. It is the only pass over the text: its other digests are made of these. */
export function blockContents(text: string): BlockContents {
  let digests = '';
  let at = 0;
  for (const end of blockEnds(text.length)) {
    digests += hash('sha256', text.slice(at, end));
    at = end;
  }
  return { digests, end: hash('sha256', text.slice(at)), length: text.length };
}
