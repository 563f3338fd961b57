import type { Content, ImagePart, Message, TextPart } from '../../core/request.ts';
import { Failure, fieldPath } from '../../core/failure.ts';
import { type ImageHosts, isImageAllowed } from '../../core/image-hosts.ts';
import { isObject } from '../../core/json.ts';

export type Part = TextPart | ImagePart;

export const textPart = (text: string): TextPart => ({ type: 'text', text });

const partsOf = (content: Content): readonly Part[] => (typeof content === 'string' ? [textPart(content)] : content);

/**
 * Makes one content of parts. If all parts are text, the content is a string, which every engine accepts (docs/reference/api.md
 * §2.2).
 */
export function contentOf(parts: readonly Part[]): Content {
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
}

/** Joins several contents into one, a paragraph each. */
export const paragraphs = (contents: readonly Content[]): Content =>
  contentOf(contents.flatMap((content, at) => (at === 0 ? partsOf(content) : [textPart('\n\n'), ...partsOf(content)])));

export const contentText = (content: Content): string =>
  partsOf(content)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');

/** Refuses an image that engines may not fetch. The message names the image's field in the caller's body. */
export function checkImages(body: unknown, messages: readonly Message[], hosts: ImageHosts): void {
  if (hosts === 'any') return;
  for (const { content = '' } of messages) {
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type !== 'image' || isImageAllowed(part.url, hosts)) continue;
      const field = fieldPath(imagePath(body, part.url, []) ?? ['messages']);
      const allowed =
        hosts.length === 0 ? 'send the image as data' : 'send it as data, or from a host that is allowed here';
      throw new Failure('invalid_request', `${field}: images are not fetched from this address: ${allowed}`);
    }
  }
}

/** Length of the longest path to an image's URL: `messages[0].content[0].content[0].source.url`. Bodies may be nested without end. */
const maxPathLength = 8;

/** How the path of an image's URL ends in each format. */
const imageField = /(?:^|\.)(?:image_url|image_url\.url|source\.url)$/;

/** The path of an image's URL in a body of any format. */
function imagePath(value: unknown, url: string, path: readonly PropertyKey[]): readonly PropertyKey[] | undefined {
  if (value === url) return imageField.test(path.join('.')) ? path : undefined;
  // The arguments of a tool call may hold anything.
  if (path.length >= maxPathLength || (path.length > 1 && path.at(-1) === 'input')) return undefined;
  const fields = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  for (const [name, field] of fields) {
    const found = imagePath(field, url, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
