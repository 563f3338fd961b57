import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A thread of this folder: what is told to it, and its next word. */
export function startThread<Command>(script: URL) {
  const worker = new Worker(script);
  const ended = once(worker, 'exit');
  const failed = once(worker, 'error').then(([error]) => Promise.reject(error as Error));
  failed.catch(() => undefined);
  return {
    tell: (command: Command) => worker.postMessage(command),
    answer: async (): Promise<unknown> => {
      const [message] = (await Promise.race([once(worker, 'message'), failed])) as [unknown];
      return message;
    },
    stop: async () => {
      worker.postMessage({ kind: 'stop' });
      await ended;
    },
  };
}

export type Thread<Command> = ReturnType<typeof startThread<Command>>;
