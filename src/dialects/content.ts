import type { Content, ImagePart, TextPart } from '../core/request.ts';

export type Part = TextPart | ImagePart;

export const textPart = (text: string): TextPart => ({ type: 'text', text });

const partsOf = (content: Content): readonly Part[] => (typeof content === 'string' ? [textPart(content)] : content);

/** Text parts alone behave like a string, on engines that take only strings too (docs/reference/api.md §2.2). */
export function contentOf(parts: readonly Part[]): Content {
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
}

/** One content of several, a paragraph each. */
export const paragraphs = (contents: readonly Content[]): Content =>
  contentOf(contents.flatMap((content, at) => (at === 0 ? partsOf(content) : [textPart('\n\n'), ...partsOf(content)])));

/** The text of a content, images left out. */
export const textOf = (content: Content): string =>
  partsOf(content)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
