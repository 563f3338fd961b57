import { Failure, fieldPath } from '../../core/failure.ts';
import { citeMark, type Citing, writeSearchError, writeSources } from '../search-words.ts';
import { searchErrors, type SearchSeal, type Source } from '../../core/web-search.ts';
import { citationType, type SearchResultBlock, type WireCitation } from './search-history.ts';

type Path = readonly PropertyKey[];

/** Turns what searches left in a conversation back into what the model had read and written. */
export interface Unsealing {
  /** The words of a result, for the model. */
  readonly resultText: (block: SearchResultBlock, path: Path) => string;
  /** The marks that the model had written behind a text. */
  readonly marksOf: (citations: readonly WireCitation[], path: Path) => string;
  /** All that was opened. */
  readonly sources: () => readonly Source[];
}

function refuse(path: Path, seal: SearchSeal | undefined): never {
  if (seal === undefined) {
    const why = 'cannot be read: web search is not enabled on this deployment';
    throw new Failure('web_search_unavailable', `${fieldPath(path)}: ${why}`);
  }
  throw new Failure('invalid_request', `${fieldPath(path)}: expected it as this service gave it`);
}

/** What is forged, changed or another deployment's is refused with the path of its field. */
export function createUnsealing(seal: SearchSeal | undefined, citing: Citing): Unsealing {
  /** By their number: what is sent back ten thousand times is still one source. */
  const opened = new Map<number, Source>();

  return {
    sources: () => [...opened.values()],
    resultText: ({ content }, path) => {
      if (!Array.isArray(content)) {
        const { error_code: code } = content;
        return writeSearchError(searchErrors.find((known) => known === code) ?? 'unavailable');
      }
      const sources = content.map(
        ({ encrypted_content: token }, at) =>
          seal?.openSource(token) ?? refuse([...path, 'content', at, 'encrypted_content'], seal),
      );
      for (const source of sources) opened.set(source.number, source);
      return writeSources(sources, citing);
    },
    marksOf: (citations, path) => {
      const numbers = citations.flatMap(({ type, encrypted_index: token }, at) => {
        if (type !== citationType) return [];
        return seal?.openNumber(token ?? '') ?? refuse([...path, 'citations', at, 'encrypted_index'], seal);
      });
      return citing === 'none' || numbers.length === 0 ? '' : ` ${[...new Set(numbers)].map(citeMark).join('')}`;
    },
  };
}
