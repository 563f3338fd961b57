import type { Message } from '../../core/request.ts';
import { contentOf, type Part, textPart } from '../content.ts';
import type { UserBlock } from './content-blocks.ts';
import { readDocument, readFinding, readImage, readResult } from './read-result.ts';

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
        said.push(textPart(block.text));
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
