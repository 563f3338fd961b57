import { Worker } from 'node:worker_threads';
import { ByNumber } from '../core/by-number.ts';
import type { TokenizerBounds, Tokenizers } from '../core/prompt.ts';
import type { TokenizerAnswer, TokenizerAsk, TokenizerThreadData } from './tokenizer-task.ts';

export interface TokenizersOptions {
  /** Folder of the tokenizer folders. */
  readonly root: string;
  /** Most time one count may take. Default 2000. */
  readonly allowanceMs?: number;
  /**
   * How long the thread may say nothing while it has work, before it is given up: a template or a pattern that never
   * ends cannot be told to. Default 10000, more than loading the largest vocabulary takes.
   */
  readonly silenceMs?: number;
}

/** More would wait longer than their callers; they are answered `unknown` at once. */
const maxWaiting = 256;
/** A count that needs more is given up with the thread, which starts anew. */
const maxHeapMb = 2048;

/** The tokenizers of a service, in one thread of its own. Starts when first used. */
export function startTokenizers(options: TokenizersOptions): Tokenizers {
  const { root, allowanceMs = 2_000, silenceMs = 10_000 } = options;
  const waiting = new ByNumber<(answer: TokenizerAnswer | undefined) => void>();
  const bounds = new Map<string, TokenizerBounds>();
  let nextId = 0;
  let worker: Worker | undefined;
  let watchdog: NodeJS.Timeout | undefined;
  let closed = false;

  function watch(): void {
    clearTimeout(watchdog);
    watchdog = waiting.size === 0 ? undefined : setTimeout(() => void worker?.terminate(), silenceMs);
  }

  function start(): Worker {
    const workerData: TokenizerThreadData = { root, allowanceMs };
    const started = new Worker(new URL('./tokenizer-worker.ts', import.meta.url), {
      ...{ workerData, name: 'weir-tokenizers', resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } },
    });
    started.unref();
    started.on('message', ({ id, reply }: { readonly id: number; readonly reply: TokenizerAnswer }) => {
      const settle = waiting.get(id);
      waiting.delete(id);
      watch();
      settle?.(reply);
    });
    const ended = (): void => {
      if (worker !== started) return;
      worker = undefined;
      const settles = waiting.values();
      waiting.clear();
      watch();
      for (const settle of settles) settle(undefined);
    };
    started.on('error', ended);
    started.on('exit', ended);
    return started;
  }

  /** Undefined when the thread cannot say: it is full, was given up, or is closed. */
  function ask(task: TokenizerAsk): Promise<TokenizerAnswer | undefined> {
    if (closed || waiting.size >= maxWaiting) return Promise.resolve(undefined);
    worker ??= start();
    const id = nextId++;
    const answer = new Promise<TokenizerAnswer | undefined>((resolve) => {
      waiting.set(id, resolve);
    });
    if (watchdog === undefined) watch();
    worker.postMessage({ id, ...task });
    return answer;
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
    close: async () => {
      closed = true;
      await worker?.terminate();
    },
  };
}
