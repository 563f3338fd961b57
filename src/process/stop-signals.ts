import { every } from '../core/clock.ts';
import { systemClock } from './clock.ts';

/** How the operator asks a long-running command to end. */
export type StopSignals = ReturnType<typeof listenForStop>;

/** npm, the shell and the wrapper each pass the same Ctrl-C on, so one keystroke can arrive several times. */
const sameKeystrokeMs = 1_000;

const parentPollMs = 500;

/** The signals that ask a program to end. */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Listens for Ctrl-C, SIGTERM and SIGHUP. Also listens for the end of the parent process if the parent gave us a
 * channel, or if it is npm, whose shell may end on a signal without passing it on.
 */
export function listenForStop(env: Readonly<Record<string, string | undefined>>) {
  const drain = new AbortController();
  const now = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!drain.signal.aborted) {
      firstAt = systemClock.elapsed();
      drain.abort();
    } else if (systemClock.elapsed() - firstAt >= sameKeystrokeMs) now.abort();
  };
  const onOrphaned = (): void => drain.abort();
  const parent = process.ppid;
  for (const signal of endingSignals) process.on(signal, onSignal);
  if (process.connected) process.once('disconnect', onOrphaned);
  const watchParent = (): void => {
    if (process.ppid !== parent) onOrphaned();
  };
  const cancelWatch =
    env['npm_lifecycle_event'] === undefined ? undefined : every(systemClock, parentPollMs, watchParent);
  return {
    /** Aborted by the first request to end: finish what is open. */
    drain: drain.signal,
    /** Aborted by the second request: end now. */
    now: now.signal,
    dispose: (): void => {
      cancelWatch?.();
      for (const signal of endingSignals) process.off(signal, onSignal);
      process.off('disconnect', onOrphaned);
    },
  };
}
