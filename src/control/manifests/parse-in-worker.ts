import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StartThread } from '../../core/worker-thread.ts';
import { entryOf, type ManifestEntry, type ParsedDocument, type ParseManifest } from './parse.ts';

/** A question to the thread: begin with a file, or return the next documents of that file. */
export type ParseAsk =
  | { readonly kind: 'begin'; readonly file: string; readonly text: string }
  | { readonly kind: 'more' };

export interface ParseReply {
  readonly documents: readonly ParsedDocument[];
  readonly isLast: boolean;
}

export interface ManifestParser {
  readonly parse: ParseManifest;
  readonly close: () => Promise<void>;
}

/** Longest wait for the next documents. Documents within the limits take a tenth of it. */
const silenceMs = 10_000;
/** Folders change seldom. */
const defaultIdleMs = 5_000;
/** Texts within the limits need far less. */
const maxHeapMb = 512;

/**
 * Parses manifests in a thread of its own: parsing YAML takes seconds for a megabyte and cannot be interrupted. One file at a
 * time. A file that the thread cannot parse in time becomes a problem.
 */
export function startManifestParser(options: {
  readonly script: URL;
  readonly startThread: StartThread;
  readonly idleMs?: number;
}): ManifestParser {
  const { script, startThread, idleMs = defaultIdleMs } = options;
  const thread = startThread<ParseAsk, ParseReply>({ script, maxHeapMb, silenceMs, idleMs });

  async function parse(file: string, text: string): Promise<readonly ManifestEntry[]> {
    const entries: ManifestEntry[] = [];
    for (let ask: ParseAsk = { kind: 'begin', file, text }; ; ask = { kind: 'more' }) {
      const reply = await thread.ask(ask).catch(() => undefined);
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
