/**
 * Counts tokens in a thread of its own. Counts take turns of a few milliseconds, so that a long one does not hold up the
 * short ones behind it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { TokenizerProblem } from '../core/prompt.ts';
import { BrokenTokenizer } from './broken-tokenizer.ts';
import { beginPromptCount } from './count-prompt.ts';
import { createTokenizerCache } from './tokenizer-cache.ts';
import type { TokenizerAnswer, TokenizerTask, TokenizerThreadData } from './tokenizer-task.ts';

const { root, allowanceMs }: TokenizerThreadData = workerData;
const turnMs = 5;
const cache = createTokenizerCache({ root, now: Date.now });

/** One count under way. Gives the answer once it has one. */
interface Job {
  readonly id: number;
  readonly run: (stop: () => boolean) => TokenizerAnswer | undefined;
  readonly late: TokenizerAnswer;
  usedMs: number;
}

const jobs: Job[] = [];

function answer(id: number, reply: TokenizerAnswer): void {
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

async function begin(task: TokenizerTask): Promise<void> {
  const { id, path } = task;
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

parentPort?.on('message', (task: TokenizerTask) => void begin(task));
