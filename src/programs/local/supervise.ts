import { type Clock, type CancelTimer, waitFor } from '../../core/clock.ts';
import type { Child } from './child.ts';

/** A child that is started again whenever it ends by itself. */
export type Supervised = ReturnType<typeof supervise>;

/** One run of a child. */
export interface Launched {
  readonly child: Pick<Child, 'pid' | 'ended' | 'lastLines' | 'stop' | 'kill'>;
  /** Resolves once the child does its work. */
  readonly isUp: Promise<void>;
  /** Asks the child whether it still responds, like `WatchdogOptions.ask`. Absent: no watchdog. */
  readonly isAnswering?: () => Promise<boolean>;
}

interface SuperviseOptions {
  /** The child's name at the beginning of a message, with the article: `The service`. */
  readonly name: string;
  /** Starts the child. The signal is aborted when this run ends. Stop waiting for the child to start then. */
  readonly launch: (over: AbortSignal) => Launched;
  readonly onPid: (pid: number | undefined) => void;
  readonly report: (line: string) => void;
  /** How long the child may leave questions without an answer before it is ended; 0: no limit. */
  readonly silenceMs: number;
  readonly clock: Clock;
}

/**
 * The pause after a short run. The index is the number of short runs in a row before it. The restart after a longer run
 * is immediate, and so is the first restart after a short run: a crash should cost callers as little as possible.
 */
const pausesMs = [0, 200, 500, 1_000, 2_000, 5_000] as const;
/** A run is short if it ends before the child is up, or within this time afterwards. */
const shortRunMs = 1_000;

export function supervise(options: SuperviseOptions) {
  const { name, launch, onPid, report, silenceMs, clock } = options;
  const stopping = new AbortController();
  let current: Launched['child'] | undefined;
  let stopWatching = (): void => undefined;
  let settleUp: (reason: string | undefined) => void = () => undefined;
  const up = new Promise<string | undefined>((resolve) => {
    settleUp = resolve;
  });

  /** Runs the child once. Resolves when the run is over, to how it ended and for how long the child had been up. */
  const runOnce = async (
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
        report(`${name} stopped answering; ending it.`);
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
    let wasEverUp = false;
    for (let shortRuns = 0; !stopping.signal.aborted;) {
      const { ending, upMs } = await runOnce(diedAt);
      if (stopping.signal.aborted) return;
      const wasUp = upMs !== undefined;
      wasEverUp ||= wasUp;
      const why =
        current
          ?.lastLines()
          .map((line) => `    ${line}`)
          .join('\n') ?? '';
      const lines = why === '' ? '' : ` Its last lines:\n${why}`;
      if (!wasEverUp) {
        settleUp(`${name} ${ending}.${lines}`);
        return;
      }
      if (wasUp || diedAt === undefined) diedAt = clock.elapsed();
      const isShort = upMs === undefined || upMs < shortRunMs;
      const delayMs = isShort ? (pausesMs[Math.min(shortRuns, pausesMs.length - 1)] ?? 0) : 0;
      shortRuns = isShort ? shortRuns + 1 : 0;
      report(`${name} ${ending}; starting it again.${wasUp && ending.startsWith('was killed') ? '' : lines}`);
      await waitFor(delayMs, { clock, signal: stopping.signal });
    }
  };
  const done = keepAlive();

  return {
    /** Resolves to undefined when the child is up for the first time, or else to the reason why it never was. */
    up,
    stop: async (graceMs: number): Promise<void> => {
      stopping.abort();
      // A child that is ending has closed its channel and does not answer any more.
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

interface WatchdogOptions {
  /** Asks the program once. Resolves to whether it answered; can take long, or never resolve. Never rejects. */
  readonly ask: () => Promise<boolean>;
  /** Resolves when the program is up, if it ever is. From then on its silence counts, like after its first answer. */
  readonly isUp: Promise<void>;
  /** How long the program may be silent. */
  readonly silenceMs: number;
  /** Called once, when the program has been silent for longer. */
  readonly onSilent: () => void;
  readonly clock: Pick<Clock, 'after'>;
}

/** Every program may take this long to come up or to give its first answer, because a busy machine starts it slowly. */
const startMs = 60_000;
const periodMs = 1_000;
/** A program that has just answered is asked again after this time, because each question wakes two idle programs. */
const restMs = 3_000;

/**
 * Watches whether a program answers, until the returned function is called. Silence begins with a question, and is counted in steps of
 * the watchdog's timer and not by the clock: time in which the machine was suspended, or so busy that this process was late too, does
 * not count against the program.
 */
export function watchAnswers({ ask, isUp, silenceMs, onSilent, clock }: WatchdogOptions): CancelTimer {
  const stepMs = Math.min(periodMs, silenceMs / 4);
  let timeoutMs = Math.max(startMs, silenceMs);
  let silentMs = 0;
  let isAsking = false;
  let isOver = false;
  let cancel: CancelTimer = () => undefined;

  const after = (ms: number, run: () => void): void => {
    cancel();
    if (!isOver) cancel = clock.after(ms, run);
  };
  const askOnce = async (): Promise<void> => {
    isAsking = true;
    const answered = await ask();
    isAsking = false;
    if (!answered) return;
    countFrom();
    after(Math.min(restMs, silenceMs / 4), look);
  };
  const countFrom = (): void => {
    silentMs = 0;
    timeoutMs = silenceMs;
  };
  const look = (): void => {
    after(stepMs, count);
    if (!isAsking) void askOnce();
  };
  const count = (): void => {
    silentMs += stepMs;
    if (silentMs < timeoutMs) {
      look();
      return;
    }
    end();
    onSilent();
  };
  const end = (): void => {
    isOver = true;
    cancel();
  };
  void isUp.then(countFrom);
  look();
  return end;
}
