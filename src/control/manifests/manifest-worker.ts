/** Parses manifests in a thread of its own, a few documents at a time: the main thread asks for the next ones. */
import { type ParsedDocument, parseDocuments } from './parse.ts';

/** Fields in one reply: copying them takes the main thread a few milliseconds. */
const fieldsAtATime = 2_000;

interface ParsedBatch {
  readonly documents: readonly ParsedDocument[];
  readonly isLast: boolean;
}

export function createFunctions() {
  let documents: Iterator<ParsedDocument> = [].values();

  function next(): ParsedBatch {
    const batch: ParsedDocument[] = [];
    for (let fields = 0; fields < fieldsAtATime;) {
      const { done, value } = documents.next();
      if (done === true) return { documents: batch, isLast: true };
      batch.push(value);
      // A problem is small, but copying it takes some time, too.
      fields += value.kind === 'broken' ? 10 : value.lines.size;
    }
    return { documents: batch, isLast: false };
  }

  return {
    begin: (file: string, text: string) => {
      documents = parseDocuments(file, text);
      return next();
    },
    next,
  };
}
