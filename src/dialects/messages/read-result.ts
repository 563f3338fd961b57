import type { ImagePart, Message, TextPart } from '../../core/request.ts';
import { type Part, textPart } from '../content.ts';
import type { DocumentBlock, ImageBlock, ResultBlock, SearchFindingBlock, ToolResultBlock } from './content-blocks.ts';

export function readImage({ source }: ImageBlock): ImagePart {
  switch (source.type) {
    case 'base64':
      return { type: 'image', url: `data:${source.media_type.toLowerCase()};base64,${source.data}` };
    case 'url':
      return { type: 'image', url: source.url };
  }
}

/** A document as its title, its context and its text, the way its pages would be read. */
export function readDocument({ title, context, source }: DocumentBlock): readonly Part[] {
  const head = [title, context].filter((line) => line !== undefined && line !== null && line !== '');
  const before = head.length === 0 ? [] : [textPart(`${head.join('\n')}\n\n`)];
  switch (source.type) {
    case 'text':
      return [...before, textPart(source.data)];
    case 'content': {
      const { content } = source;
      if (typeof content === 'string') return [...before, textPart(content)];
      return [...before, ...content.map((block) => (block.type === 'text' ? textPart(block.text) : readImage(block)))];
    }
  }
}

export function readFinding({ title, source, content }: SearchFindingBlock): TextPart {
  return textPart(`${title} (${source})\n\n${content.map(({ text }) => text).join('')}`);
}

/** Parts of several blocks, in their order. Documents and findings are paragraphs of their own: a question would run into them. */
export function joinBlocks(blocks: readonly { readonly parts: readonly Part[]; readonly isApart: boolean }[]): Part[] {
  return blocks.flatMap(({ parts, isApart }, at) =>
    at > 0 && (isApart || blocks[at - 1]?.isApart === true) ? [textPart('\n\n'), ...parts] : parts,
  );
}

/** What a model is told in place of something that it cannot read. */
const notRead = (what: string): string => `[${what} stood here. This model cannot read it.]`;

function describeImage(block: ImageBlock): string {
  return notRead(block.source.type === 'base64' ? `An image (${block.source.media_type})` : 'An image');
}

function describeUnreadable({ was, title, mediaType }: Extract<ResultBlock, { type: 'unreadable' }>): string {
  const named = title === undefined || title === '' ? '' : ` "${title}"`;
  const typed = mediaType === undefined ? '' : ` (${mediaType})`;
  const article = /^[aeiou]/i.test(was) ? 'An' : 'A';
  return notRead(`${article} ${was.replaceAll('_', ' ')}${named}${typed}`);
}

function readBlock(block: ResultBlock): readonly Part[] {
  switch (block.type) {
    case 'text':
      return [textPart(block.text)];
    case 'image':
      return [{ ...readImage(block), alternative: describeImage(block) }];
    case 'document':
      return readDocument(block).map((part) =>
        part.type === 'image' ? { ...part, alternative: notRead('An image of the document') } : part,
      );
    case 'search_result':
      return [readFinding(block)];
    case 'tool_reference':
      return [textPart(`The tool ${block.tool_name} can be called from now on.\n`)];
    case 'unreadable':
      return [textPart(describeUnreadable(block))];
  }
}

const readApart = (block: ResultBlock) => ({
  parts: readBlock(block),
  isApart: block.type === 'document' || block.type === 'search_result',
});

/** What a model reads of a failed call: engines have no field for it. */
const failedText = (text: string): string =>
  text === '' || /^\W*error\b/i.test(text) ? text || 'Error' : `Error: ${text}`;

/** A tool's answer. Engines take text alone here: images follow in the user's words. */
export function readResult({ tool_use_id: toolCallId, content, is_error: failed }: ToolResultBlock): {
  readonly message: Message;
  readonly images: readonly Part[];
} {
  const parts = typeof content === 'string' ? [textPart(content)] : joinBlocks((content ?? []).map(readApart));
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const images = parts.filter((part) => part.type === 'image');
  const said = text === '' && images.length > 0 ? 'The result is shown in the next message.' : text;
  return {
    message: { role: 'tool', toolCallId, content: failed === true ? failedText(said) : said },
    images: images.length === 0 ? [] : [textPart(`Result of the tool call ${toolCallId}:`), ...images],
  };
}
