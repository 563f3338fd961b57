import type { Content, ImagePart, Message, TextPart } from '../../core/request.ts';
import type { ImageBlock, ToolResultBlock, UserBlock } from './content-blocks.ts';

type Part = TextPart | ImagePart;

function readImage({ source }: ImageBlock): ImagePart {
  switch (source.type) {
    case 'base64':
      return { type: 'image', url: `data:${source.media_type.toLowerCase()};base64,${source.data}` };
    case 'url':
      return { type: 'image', url: source.url };
  }
}

/** Text parts alone behave like a string, on engines that take only strings too (service specification §2.2). */
export function contentOf(parts: readonly Part[]): Content {
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
}

/** What a model reads of a failed call: engines have no field for it. */
const failedText = (text: string): string =>
  text === '' || /^\W*error\b/i.test(text) ? text || 'Error' : `Error: ${text}`;

/** A tool's answer. Engines take text alone here: images follow in the user's words. */
function readResult({ tool_use_id: toolCallId, content, is_error: failed }: ToolResultBlock): {
  readonly message: Message;
  readonly images: readonly Part[];
} {
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const images = blocks.flatMap((block) => (block.type === 'image' ? [readImage(block)] : []));
  const said = text === '' && images.length > 0 ? 'The result is shown in the next message.' : text;
  const label: Part = { type: 'text', text: `Result of the tool call ${toolCallId}:` };
  return {
    message: { role: 'tool', toolCallId, content: failed === true ? failedText(said) : said },
    images: images.length === 0 ? [] : [label, ...images],
  };
}

/**
 * Reads the blocks of a user's turn: the answers of tools first, as engines want them right after the calls, then the images among
 * them and whatever the user says.
 */
export function readUserTurn(blocks: readonly UserBlock[]): readonly Message[] {
  const results: Message[] = [];
  const images: Part[] = [];
  const said: Part[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        said.push({ type: 'text', text: block.text });
        break;
      case 'image':
        said.push(readImage(block));
        break;
      case 'tool_result': {
        const read = readResult(block);
        results.push(read.message);
        images.push(...read.images);
        break;
      }
    }
  }
  const parts = [...images, ...said];
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }];
}
