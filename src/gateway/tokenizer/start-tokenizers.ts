import type { TokenizerBounds, Tokenizers } from '../../core/prompt.ts';
import type { StartThread } from '../../core/worker-thread.ts';
import type { createFunctions } from './tokenizer-worker.ts';

export interface TokenizersOptions {
  /** Folder of the tokenizer folders. */
  readonly root: string;
  readonly startThread: StartThread;
  /** Most time one count may take. Default 2000. */
  readonly allowanceMs?: number;
  /**
   * How long the thread may be silent while it has work before it is ended: a template or a pattern that runs forever
   * cannot be stopped otherwise. Default 10000, more than loading the largest vocabulary takes.
   */
  readonly silenceMs?: number;
}

/** Most counts that wait. Further counts get `unknown` at once, because they would wait longer than their callers. */
const maxWaiting = 256;
/** A count that needs more memory ends the thread, which is then started anew. */
const maxHeapMb = 2048;

/** The tokenizers of a service, in one thread of their own. The thread starts when first used. */
export function startTokenizers(options: TokenizersOptions): Tokenizers {
  const { root, startThread, allowanceMs = 2_000, silenceMs = 10_000 } = options;
  const thread = startThread<typeof createFunctions>({
    module: new URL('./tokenizer-worker.ts', import.meta.url),
    data: { root, allowanceMs },
    name: 'weir-tokenizers',
    ...{ maxHeapMb, silenceMs },
  });
  const bounds = new Map<string, TokenizerBounds>();

  /** Undefined when there is no answer: too many are waiting, the thread was ended, or the service closes. */
  const ifRoom = <Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> =>
    thread.pending() >= maxWaiting ? Promise.resolve(undefined) : call().catch(() => undefined);

  return {
    load: async (path, use) => {
      const load = (await ifRoom(() => thread.call('load', [path, use]))) ?? {
        kind: 'broken',
        problem: { file: path, field: '', message: 'took too long or too much to load' },
      };
      if (load.kind === 'loaded') bounds.set(path, load.bounds);
      return load;
    },
    boundsOf: (path) => bounds.get(path),
    countPrompt: async (...given) =>
      (await ifRoom(() => thread.call('countPrompt', given))) ?? { kind: 'unknown', reason: 'time' },
    countText: (...given) => ifRoom(() => thread.call('countText', given)),
    close: thread.close,
  };
}
