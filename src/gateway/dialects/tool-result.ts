import type { Message } from '../../core/request.ts';
import { contentText, type Part, textPart } from './content.ts';

export interface ToolResult {
  readonly message: Message;
  /** Belong at the beginning of the user's message that follows. */
  readonly images: readonly Part[];
}

/** Makes the result of a tool call. Engines take only text in it, so its images follow in the user's message. */
export function toolResult(
  toolCallId: string,
  parts: readonly Part[],
  edit: (text: string) => string = (text) => text,
): ToolResult {
  const text = contentText(parts);
  const images = parts.filter((part) => part.type === 'image');
  const said = text === '' && images.length > 0 ? 'The result is shown in the next message.' : text;
  return {
    message: { role: 'tool', toolCallId, content: edit(said) },
    images: images.length === 0 ? [] : [textPart(`Result of the tool call ${toolCallId}:`), ...images],
  };
}

/** The text that replaces a part that the model cannot read. */
export const notRead = (what: string): string => `[${what} stood here. This model cannot read it.]`;
