import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

/**
 * Loaded into the service by `npm run bench -- --profile` (NODE_OPTIONS=--import). The signal SIGUSR2 starts V8's
 * sampling profiler in every thread, and the next one stops it and writes `<pid>-<thread>.cpuprofile`.
 * A file `<pid>-<thread>.ready` says that this process listens: the signal would end one that does not.
 */
const folder = process.env['BENCH_PROFILE_FOLDER'];
if (folder !== undefined) listen(folder);

function listen(place: string): void {
  mkdirSync(place, { recursive: true });
  const mine = join(place, `${process.pid}-${isMainThread ? 0 : threadId}`);
  const channel = new BroadcastChannel('weir-bench-profile');
  let running: Session | undefined;

  const start = async (): Promise<void> => {
    running = new Session();
    running.connect();
    await running.post('Profiler.enable');
    await running.post('Profiler.start');
    writeFileSync(`${mine}.started`, '');
  };
  const stop = async (session: Session): Promise<void> => {
    running = undefined;
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    // Whoever waits for the name must find the file whole.
    writeFileSync(`${mine}.part`, JSON.stringify(profile));
    renameSync(`${mine}.part`, `${mine}.cpuprofile`);
  };
  const toggle = (): void => {
    (running === undefined ? start() : stop(running)).catch((error: unknown) => console.error('profile failed', error));
  };

  // Workers get no signals; the main thread passes the word on.
  if (isMainThread) {
    process.on('SIGUSR2', () => {
      channel.postMessage('toggle');
      toggle();
    });
    // A thread that has ended is not waited for.
    process.on('worker', (worker) => {
      const ready = join(place, `${process.pid}-${worker.threadId}.ready`);
      worker.once('exit', () => rmSync(ready, { force: true }));
    });
  } else {
    channel.onmessage = toggle;
  }
  channel.unref();
  if (!existsSync(`${mine}.ready`)) writeFileSync(`${mine}.ready`, '');
}
