import type { ImagePart, TextPart } from '../../../core/request.ts';
import { contentOf, type Part, textPart } from '../content.ts';
import { describeUnreadable, type HistoryMessage, toolResult, withAlternative } from '../tool-result.ts';
import type { DocumentBlock, ImageBlock, ResultBlock, SearchResultPage, ToolResultBlock, UserBlock } from './schema.ts';

/** Reads the blocks of a user's turn: the results of tools, and the user's own content. */
export function readUserTurn(blocks: readonly UserBlock[]): readonly HistoryMessage[] {
  const results: HistoryMessage[] = [];
  const own: { readonly parts: readonly Part[]; readonly isParagraph: boolean }[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        own.push({ parts: [textPart(block.text)], isParagraph: false });
        break;
      case 'image':
        own.push({ parts: [readImage(block)], isParagraph: false });
        break;
      case 'document':
        own.push({ parts: readDocument(block), isParagraph: true });
        break;
      case 'search_result':
        own.push({ parts: [readSearchResult(block)], isParagraph: true });
        break;
      case 'tool_result':
        results.push(readToolResult(block));
        break;
    }
  }
  const parts = joinBlocks(own);
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }];
}

/** Marks the text of a failed call as an error, because engines have no field for this. */
const failedText = (text: string): string =>
  text === '' || /^\W*error\b/i.test(text) ? text || 'Error' : `Error: ${text}`;

function readToolResult({ tool_use_id: toolCallId, content, is_error: failed }: ToolResultBlock): HistoryMessage {
  const parts = typeof content === 'string' ? [textPart(content)] : joinBlocks((content ?? []).map(readResultBlock));
  return toolResult(toolCallId, parts, failed === true ? failedText : undefined);
}

function readImage({ source }: ImageBlock): ImagePart {
  switch (source.type) {
    case 'base64':
      return { type: 'image', url: `data:${source.media_type.toLowerCase()};base64,${source.data}` };
    case 'url':
      return { type: 'image', url: source.url };
  }
}

/** Reads a document into its title, its context and its text. */
function readDocument({ title, context, source }: DocumentBlock): readonly Part[] {
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

function readSearchResult({ title, source, content }: SearchResultPage): TextPart {
  return textPart(`${title} (${source})\n\n${content.map(({ text }) => text).join('')}`);
}

/** The parts of several blocks in order. Documents and search results are paragraphs of their own, so that a question does not run into them. */
function joinBlocks(blocks: readonly { readonly parts: readonly Part[]; readonly isParagraph: boolean }[]): Part[] {
  return blocks.flatMap(({ parts, isParagraph }, at) =>
    at > 0 && (isParagraph || blocks[at - 1]?.isParagraph === true) ? [textPart('\n\n'), ...parts] : parts,
  );
}

const nameOf = ({ source }: ImageBlock): string =>
  source.type === 'base64' ? `An image (${source.media_type})` : 'An image';

function readBlock(block: ResultBlock): readonly Part[] {
  switch (block.type) {
    case 'text':
      return [textPart(block.text)];
    case 'image':
      return [withAlternative(readImage(block), nameOf(block))];
    case 'document':
      return readDocument(block).map((part) => withAlternative(part, 'An image of the document'));
    case 'search_result':
      return [readSearchResult(block)];
    case 'tool_reference':
      return [textPart(`The tool ${block.tool_name} can be called from now on.\n`)];
    case 'unreadable':
      return [describeUnreadable(block)];
  }
}

const readResultBlock = (block: ResultBlock) => ({
  parts: readBlock(block),
  isParagraph: block.type === 'document' || block.type === 'search_result',
});
