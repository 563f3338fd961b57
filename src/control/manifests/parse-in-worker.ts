import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StartThread } from '../../core/worker-thread.ts';
import { entryOf, type ManifestEntry, type ParsedDocument, parseDocuments } from './parse.ts';

export type ManifestParser = ReturnType<typeof startManifestParser>;

/** Longest wait for the next documents. Documents within the limits take a tenth of it. */
const silenceMs = 10_000;
/** Folders change seldom. */
const usualIdleMs = 5_000;
/** Texts within the limits need far less. */
const maxHeapMb = 512;

/**
 * Parses manifests in a thread of its own: parsing YAML takes seconds for a megabyte and cannot be interrupted. One file at a
 * time. A file that the thread cannot parse in time becomes a problem.
 */
export function startManifestParser({
  startThread,
  module = new URL(import.meta.url),
  idleMs = usualIdleMs,
}: {
  readonly startThread: StartThread;
  readonly module?: URL;
  readonly idleMs?: number;
}) {
  const limits = { maxHeapMb, silenceMs, idleMs };
  const thread = startThread<typeof createFunctions>({ module, data: undefined, isLowPriority: true, ...limits });

  async function parse(file: string, text: string): Promise<readonly ManifestEntry[]> {
    const entries: ManifestEntry[] = [];
    for (let reading = thread.call('begin', [file, text]); ; reading = thread.call('next', [])) {
      const reply = await reading.catch(() => undefined);
      if (reply === undefined) {
        const message = 'expected YAML or JSON that can be read in ten seconds: split the file';
        return [...entries, { kind: 'broken', problem: { where: file, field: '', message } }];
      }
      entries.push(...reply.documents.map(entryOf));
      if (reply.isLast) return entries;
      // Copying the documents from the thread took time of this turn: other work goes first now.
      await nextTurn();
    }
  }

  return { parse, close: thread.close };
}

/** Fields in one reply: copying them takes the main thread a few milliseconds. */
const fieldsAtATime = 2_000;

interface ParsedBatch {
  readonly documents: readonly ParsedDocument[];
  readonly isLast: boolean;
}

/** The functions of the thread: it parses a few documents at a time, and the main thread asks for the next ones. */
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
