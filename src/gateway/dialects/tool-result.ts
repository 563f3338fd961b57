import { z } from 'zod';
import { converted } from '../../core/body-schema.ts';
import type { Message } from '../../core/request.ts';
import { contentText, type Part, textPart } from './content.ts';

type ResultMessage = Extract<Message, { readonly role: 'tool' }>;

/** A message in the order of the caller's history. Engines take only text in a result, so its images are apart. */
export type HistoryMessage =
  | Exclude<Message, ResultMessage>
  | (ResultMessage & {
      readonly images?: readonly Part[] | undefined;
      /** The name of its tool, if it names no call. */
      readonly tool?: string | undefined;
    });

/** The line before the images of a result. */
export const resultHeading = (toolCallId: string): string => `Result of the tool call ${toolCallId}:`;

/** The line before a result without a call, which is read as words of the user: every engine refuses it as a result. */
export const strayHeading = (tool: string | undefined): string =>
  tool === undefined
    ? 'Result of a tool call that is no longer part of this conversation:'
    : `Result of the tool ${tool}:`;

/** The text of a result that has nothing but images. */
export const shownNext = 'The result is shown in the next message.';

/** Makes the result of a tool call. `placeResults` moves its images into the user's message that follows. */
export function toolResult(
  toolCallId: string,
  parts: readonly Part[],
  edit: (text: string) => string = (text) => text,
): Extract<HistoryMessage, { readonly role: 'tool' }> {
  const text = contentText(parts);
  const images = parts.filter((part) => part.type === 'image');
  const said = text === '' && images.length > 0 ? shownNext : text;
  return {
    role: 'tool',
    toolCallId,
    content: edit(said),
    images: images.length === 0 ? undefined : [textPart(resultHeading(toolCallId)), ...images],
  };
}

/** The text that replaces a part that the model cannot read. */
const notRead = (what: string): string => `[${what} stood here. This model cannot read it.]`;

/**
 * A part of a tool's result that no model here can read. The model gets a description instead. A refusal would also refuse every
 * later turn, because the part stays in the conversation.
 */
export const unreadable = converted(
  z.object({
    type: z.string().min(1).catch('part'),
    text: z.string().nullish().catch(null),
    title: z.string().nullish().catch(null),
    filename: z.string().nullish().catch(null),
    file: z.object({ filename: z.string().nullish() }).nullish().catch(null),
    source: z
      .object({ media_type: z.string().nullish().catch(null) })
      .nullish()
      .catch(null),
  }),
  ({ type, text, title, filename, file, source }) => ({
    type: 'unreadable' as const,
    text: text ?? '',
    was: type.replace(/^input_|_url$/g, ''),
    title: title ?? filename ?? file?.filename ?? undefined,
    mediaType: source?.media_type ?? undefined,
  }),
);

/** A part of a tool's result in a form that may be one that no model here can read. */
export const orUnreadable = <T extends z.ZodType>(schema: T) => z.union([schema, unreadable]);

/** The text of a part, whatever its type, or else a description of it. */
export function describeUnreadable({ text, was, title, mediaType }: z.output<typeof unreadable>): Part {
  if (text !== '') return textPart(text);
  const named = title === undefined || title === '' ? '' : ` "${title}"`;
  const typed = mediaType === undefined ? '' : ` (${mediaType})`;
  const article = /^[aeiou]/i.test(was) ? 'An' : 'A';
  return textPart(notRead(`${article} ${was.replaceAll('_', ' ')}${named}${typed}`));
}

/** A part of a tool's result as it is read. A model without images gets a sentence in place of an image. */
export const withAlternative = (part: Part, what = 'An image'): Part =>
  part.type === 'image' ? { ...part, alternative: notRead(what) } : part;
