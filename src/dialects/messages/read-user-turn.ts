import type { Content, Message } from '../../core/request.ts';
import type { UserBlock } from './content-blocks.ts';
import { type Part, readDocument, readFinding, readImage, readResult } from './read-result.ts';

/** Text parts alone behave like a string, on engines that take only strings too (service specification §2.2). */
export function contentOf(parts: readonly Part[]): Content {
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('') : parts;
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
      case 'document':
        said.push(...readDocument(block));
        break;
      case 'search_result':
        said.push(readFinding(block));
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
