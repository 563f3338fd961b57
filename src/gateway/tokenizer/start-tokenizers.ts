import type { TokenizerBounds, Tokenizers } from '../../core/prompt.ts';
import type { StartThread } from '../../core/worker-thread.ts';
import type { TokenizerAnswer, TokenizerAsk, TokenizerThreadData } from './tokenizer-task.ts';

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
  const workerData: TokenizerThreadData = { root, allowanceMs };
  const thread = startThread<TokenizerAsk, TokenizerAnswer>({
    script: new URL('./tokenizer-worker.ts', import.meta.url),
    name: 'weir-tokenizers',
    workerData,
    maxHeapMb,
    silenceMs,
  });
  const bounds = new Map<string, TokenizerBounds>();

  /** Undefined when there is no answer: too many are waiting, the thread was ended, or the service closes. */
  function ask(task: TokenizerAsk): Promise<TokenizerAnswer | undefined> {
    if (thread.pending() >= maxWaiting) return Promise.resolve(undefined);
    return thread.ask(task).catch(() => undefined);
  }

  return {
    load: async (path) => {
      const answer = await ask({ kind: 'load', path });
      if (answer?.kind !== 'load') {
        return { kind: 'broken', problem: { file: path, field: '', message: 'took too long or too much to load' } };
      }
      if (answer.load.kind === 'loaded') bounds.set(path, answer.load.bounds);
      return answer.load;
    },
    boundsOf: (path) => bounds.get(path),
    countPrompt: async (path, prompt, countOptions) => {
      const answer = await ask({ kind: 'prompt', path, prompt, options: countOptions });
      return answer?.kind === 'prompt' ? answer.count : { kind: 'unknown', reason: 'time' };
    },
    countText: async (path, text) => {
      const answer = await ask({ kind: 'text', path, text });
      return answer?.kind === 'text' ? answer.tokens : undefined;
    },
    close: thread.close,
  };
}
