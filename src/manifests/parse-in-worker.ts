import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entryOf, type ManifestEntry, type ParsedDocument, type ParseManifest } from './parse.ts';

/** A question to the thread: begin with a file, or give the next documents of it. */
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

/** Longest that the thread may take for its next documents: within the limits of a document it takes a tenth of it. */
const patienceMs = 10_000;
/** A thread without work is ended after so long: folders change seldom. */
const defaultIdleMs = 5_000;
/** No text within the limits comes near it. */
const resourceLimits = { maxOldGenerationSizeMb: 512 };

/**
 * Parses manifests in a thread of its own: parsing YAML takes seconds for a megabyte and cannot be broken off. Takes one file
 * at a time. A file that the thread cannot be done with becomes a problem.
 */
export function startManifestParser(options: { readonly script: URL; readonly idleMs?: number }): ManifestParser {
  const { script, idleMs = defaultIdleMs } = options;
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  function forget(thread: Worker): void {
    if (worker === thread) worker = undefined;
  }

  /** Ends the thread; another one is started when it is needed. */
  async function rest(): Promise<void> {
    clearTimeout(idle);
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  }

  function ask(task: ParseAsk): Promise<ParseReply | undefined> {
    if (worker === undefined) {
      const started = new Worker(script, { resourceLimits });
      started.unref();
      // Whether or not anybody waits for it then.
      started.on('error', () => undefined).on('exit', () => forget(started));
      worker = started;
    }
    const thread = worker;
    const { promise, resolve } = Promise.withResolvers<ParseReply | undefined>();
    const gone = (): void => {
      forget(thread);
      resolve(undefined);
    };
    const patience = setTimeout(() => void thread.terminate(), patienceMs);
    thread.once('message', resolve).once('error', gone).once('exit', gone);
    thread.postMessage(task);
    return promise.finally(() => {
      clearTimeout(patience);
      thread.off('message', resolve).off('error', gone).off('exit', gone);
    });
  }

  async function parse(file: string, text: string): Promise<readonly ManifestEntry[]> {
    const entries: ManifestEntry[] = [];
    clearTimeout(idle);
    for (let task: ParseAsk = { kind: 'begin', file, text }; !isClosed; task = { kind: 'more' }) {
      const reply = await ask(task);
      if (reply === undefined) {
        const message = 'expected YAML or JSON that can be read in ten seconds: split the file';
        entries.push({ kind: 'broken', problem: { where: file, field: '', message } });
        break;
      }
      entries.push(...reply.documents.map(entryOf));
      if (reply.isLast) break;
      // Copying the documents from the thread took time of this turn: others go first now.
      await nextTurn();
    }
    if (!isClosed) idle = setTimeout(() => void rest(), idleMs).unref();
    return entries;
  }

  return {
    parse,
    close: async () => {
      isClosed = true;
      await rest();
    },
  };
}
