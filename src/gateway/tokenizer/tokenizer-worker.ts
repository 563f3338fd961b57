/**
 * Counts tokens in a thread of its own. Counts take turns of a few milliseconds, so that a long one does not hold up the
 * short ones behind it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { TokenizerProblem } from '../../core/prompt.ts';
import { BrokenTokenizer } from './tokenizer-folder.ts';
import { beginPromptCount } from './count-prompt.ts';
import type { ThreadMessage } from '../../core/worker-thread.ts';
import { createTokenizerCache } from './loaded-tokenizer.ts';
import type { TokenizerAnswer, TokenizerAsk, TokenizerThreadData } from './tokenizer-task.ts';

const { root, allowanceMs }: TokenizerThreadData = workerData;
const turnMs = 5;
const cache = createTokenizerCache({ root, now: Date.now });

type Message = ThreadMessage<TokenizerAsk>;

/** One count under way. */
interface Job {
  readonly id: Message['id'];
  /** Counts until `stop` returns true. Returns the answer once the count is complete. */
  readonly run: (stop: () => boolean) => TokenizerAnswer | undefined;
  /** The answer when the allowance is used up. */
  readonly late: TokenizerAnswer;
  usedMs: number;
}

const jobs: Job[] = [];

function answer(id: Message['id'], reply: TokenizerAnswer): void {
  parentPort?.postMessage({ id, reply });
}

function takeTurn(): void {
  const job = jobs.shift();
  if (job === undefined) return;
  const started = performance.now();
  const reply = job.run(() => performance.now() - started >= turnMs);
  job.usedMs += performance.now() - started;
  if (reply !== undefined) answer(job.id, reply);
  else if (job.usedMs >= allowanceMs) answer(job.id, job.late);
  else jobs.push(job);
  if (jobs.length > 0) setImmediate(takeTurn);
}

function enqueue(job: Job): void {
  jobs.push(job);
  if (jobs.length === 1) setImmediate(takeTurn);
}

function problemOf(error: unknown, path: string): TokenizerProblem {
  if (error instanceof BrokenTokenizer) return error.problem;
  return { file: path, field: '', message: 'cannot be loaded' };
}

async function begin({ id, ask: task }: Message): Promise<void> {
  const { path } = task;
  try {
    const tokenizer = await cache.get(path);
    switch (task.kind) {
      case 'load':
        answer(id, { kind: 'load', load: { kind: 'loaded', bounds: tokenizer.bounds } });
        return;
      case 'prompt': {
        const counting = beginPromptCount(tokenizer, task.prompt, task.options);
        const run: Job['run'] = (stop) => {
          const count = counting.step(stop);
          return count && { kind: 'prompt', count };
        };
        enqueue({ id, run, late: { kind: 'prompt', count: { kind: 'unknown', reason: 'time' } }, usedMs: 0 });
        return;
      }
      case 'text': {
        const counting = tokenizer.counter.begin(task.text, Number.POSITIVE_INFINITY);
        const run: Job['run'] = (stop) => {
          const count = counting.step(stop);
          return count && { kind: 'text', tokens: count.kind === 'counted' ? count.tokens : undefined };
        };
        enqueue({ id, run, late: { kind: 'text', tokens: undefined }, usedMs: 0 });
        return;
      }
    }
  } catch (error) {
    switch (task.kind) {
      case 'load':
        answer(id, { kind: 'load', load: { kind: 'broken', problem: problemOf(error, path) } });
        return;
      case 'prompt':
        answer(id, { kind: 'prompt', count: { kind: 'unknown', reason: 'tokenizer' } });
        return;
      case 'text':
        answer(id, { kind: 'text', tokens: undefined });
    }
  }
}

parentPort?.on('message', (message: Message) => void begin(message));
