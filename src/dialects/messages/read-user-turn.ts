import type { Message } from '../../core/request.ts';
import { contentOf, type Part, textPart } from '../content.ts';
import type { UserBlock } from './content-blocks.ts';
import { joinBlocks, readDocument, readFinding, readImage, readResult } from './read-result.ts';

/**
 * Reads the blocks of a user's turn: the answers of tools first, as engines want them right after the calls, then the images among
 * them and whatever the user says.
 */
export function readUserTurn(blocks: readonly UserBlock[]): readonly Message[] {
  const results: Message[] = [];
  const images: Part[] = [];
  const said: { readonly parts: readonly Part[]; readonly isApart: boolean }[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        said.push({ parts: [textPart(block.text)], isApart: false });
        break;
      case 'image':
        said.push({ parts: [readImage(block)], isApart: false });
        break;
      case 'document':
        said.push({ parts: readDocument(block), isApart: true });
        break;
      case 'search_result':
        said.push({ parts: [readFinding(block)], isApart: true });
        break;
      case 'tool_result': {
        const read = readResult(block);
        results.push(read.message);
        images.push(...read.images);
        break;
      }
    }
  }
  const shown = images.length === 0 ? [] : [{ parts: images, isApart: true }];
  const parts = joinBlocks([...shown, ...said]);
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }];
}
