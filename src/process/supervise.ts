import { type Clock, waitFor } from '../core/clock.ts';
import type { Child } from './child.ts';
import { watchAnswers } from './watchdog.ts';

/** A child that is started again whenever it ends by itself. */
export interface Supervised {
  /** Resolves to undefined when it is up for the first time, else to the reason it never was. */
  readonly up: Promise<string | undefined>;
  readonly stop: (graceMs: number) => Promise<void>;
}

/** One life of a child. */
export interface Launched {
  readonly child: Pick<Child, 'pid' | 'ended' | 'lastLines' | 'stop' | 'kill'>;
  /** Resolves once it does its work. */
  readonly isUp: Promise<void>;
  /** Asks it whether it still gets to its work, as `WatchdogOptions.ask`. Absent: nobody watches it. */
  readonly isAnswering?: () => Promise<boolean>;
}

export interface SuperviseOptions {
  /** Its name in messages, with the article: `the service`. */
  readonly name: string;
  /** Starts it. What waits for it to come up must give up when the signal is aborted. */
  readonly launch: (over: AbortSignal) => Launched;
  readonly onPid: (pid: number | undefined) => void;
  readonly report: (line: string) => void;
  /** How long it may leave questions without an answer before it is ended; 0: for ever. */
  readonly silenceMs: number;
  readonly clock: Clock;
}

/**
 * The pause after a short life, by how many of them came before it in a row. The restart after a longer life is immediate, and so is
 * the first one after a short life: a crash should cost callers as little as possible.
 */
const pausesMs = [0, 200, 500, 1_000, 2_000, 5_000] as const;
/** A life is short when it ends before the child is up, or sooner than this after. */
const shortLifeMs = 1_000;

export function supervise(options: SuperviseOptions): Supervised {
  const { name, launch, onPid, report, silenceMs, clock } = options;
  const stopping = new AbortController();
  let current: Launched['child'] | undefined;
  let stopWatching = (): void => undefined;
  let settleUp: (reason: string | undefined) => void = () => undefined;
  const up = new Promise<string | undefined>((resolve) => {
    settleUp = resolve;
  });

  /** One life of the child. Resolves when it is over, to how it ended and for how long it had been up. */
  const live = async (
    diedAt: number | undefined,
  ): Promise<{ readonly ending: string; readonly upMs: number | undefined }> => {
    const over = new AbortController();
    const { child, isUp, isAnswering } = launch(over.signal);
    current = child;
    onPid(child.pid);
    let upAt: number | undefined;
    void isUp.then(() => {
      if (over.signal.aborted) return;
      upAt = clock.elapsed();
      settleUp(undefined);
      if (diedAt !== undefined) report(`${name} is back after ${seconds(upAt - diedAt)} s.`);
    });
    if (isAnswering !== undefined && silenceMs > 0) {
      const onSilent = (): void => {
        report(`${name} does not answer any more; ending it.`);
        child.kill();
      };
      stopWatching = watchAnswers({ ask: isAnswering, isUp, silenceMs, onSilent, clock });
    }
    const ending = await child.ended;
    over.abort();
    stopWatching();
    onPid(undefined);
    return { ending, upMs: upAt === undefined ? undefined : clock.elapsed() - upAt };
  };

  const keepAlive = async (): Promise<void> => {
    let diedAt: number | undefined;
    for (let shortLives = 0; !stopping.signal.aborted;) {
      const { ending, upMs } = await live(diedAt);
      if (stopping.signal.aborted) return;
      const why =
        current
          ?.lastLines()
          .map((line) => `    ${line}`)
          .join('\n') ?? '';
      const lines = why === '' ? '' : ` Its last lines:\n${why}`;
      const wasUp = upMs !== undefined;
      if (diedAt === undefined && !wasUp) {
        settleUp(`${name} ${ending}.${lines}`);
        return;
      }
      if (wasUp || diedAt === undefined) diedAt = clock.elapsed();
      const isShort = upMs === undefined || upMs < shortLifeMs;
      const delayMs = isShort ? (pausesMs[Math.min(shortLives, pausesMs.length - 1)] ?? 0) : 0;
      shortLives = isShort ? shortLives + 1 : 0;
      report(`${name} ${ending}; starting it again.${wasUp && ending.startsWith('was killed') ? '' : lines}`);
      await waitFor(delayMs, { clock, signal: stopping.signal });
    }
  };
  const done = keepAlive();

  return {
    up,
    stop: async (graceMs) => {
      stopping.abort();
      // One that ends has closed its channel, and answers no more.
      stopWatching();
      settleUp('it was stopped');
      await current?.stop(graceMs);
      await done;
    },
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
