import { systemClock, pause } from './clock.ts';
import type { Child } from './child.ts';

/** A child that is started again whenever it ends by itself. */
export interface Supervised {
  /** Resolves to undefined when it is up for the first time, else to the reason it never was. */
  readonly up: Promise<string | undefined>;
  readonly stop: (graceMs: number) => Promise<void>;
}

export interface SuperviseOptions {
  /** Its name in messages, with the article: `the service`. */
  readonly name: string;
  /** Starts it. `isUp` resolves once it does its work; it must give up when the signal is aborted. */
  readonly launch: (over: AbortSignal) => { readonly child: Child; readonly isUp: Promise<void> };
  readonly onPid: (pid: number | undefined) => void;
  readonly report: (line: string) => void;
}

/** The first restart is immediate: a single crash should cost callers as little as possible. */
const pausesMs = [0, 200, 500, 1_000, 2_000, 5_000] as const;
/** After so long a life the next crash counts as the first again. */
const provenMs = 30_000;

export function supervise({ name, launch, onPid, report }: SuperviseOptions): Supervised {
  const stopping = new AbortController();
  let current: Child | undefined;
  let settleUp: (reason: string | undefined) => void = () => undefined;
  const up = new Promise<string | undefined>((resolve) => {
    settleUp = resolve;
  });

  /** One life of the child. Resolves when it is over, to how it ended and whether it had been up. */
  const live = async (diedAt: number | undefined): Promise<{ readonly ending: string; readonly wasUp: boolean }> => {
    const over = new AbortController();
    const { child, isUp } = launch(over.signal);
    current = child;
    onPid(child.pid);
    let wasUp = false;
    void isUp.then(() => {
      if (over.signal.aborted) return;
      wasUp = true;
      settleUp(undefined);
      if (diedAt !== undefined) report(`${name} is back after ${seconds(systemClock.elapsed() - diedAt)} s.`);
    });
    const ending = await child.ended;
    over.abort();
    onPid(undefined);
    return { ending, wasUp };
  };

  const keepAlive = async (): Promise<void> => {
    let diedAt: number | undefined;
    for (let deaths = 0; !stopping.signal.aborted;) {
      const startedAt = systemClock.elapsed();
      const { ending, wasUp } = await live(diedAt);
      if (stopping.signal.aborted) return;
      const why =
        current
          ?.lastLines()
          .map((line) => `    ${line}`)
          .join('\n') ?? '';
      const lines = why === '' ? '' : ` Its last lines:\n${why}`;
      if (diedAt === undefined && !wasUp) {
        settleUp(`${name} ${ending}.${lines}`);
        return;
      }
      if (systemClock.elapsed() - startedAt > provenMs) deaths = 0;
      if (wasUp || diedAt === undefined) diedAt = systemClock.elapsed();
      const delayMs = pausesMs[Math.min(deaths, pausesMs.length - 1)] ?? 0;
      deaths += 1;
      report(`${name} ${ending}; starting it again.${wasUp && ending.startsWith('was killed') ? '' : lines}`);
      await pause(delayMs, stopping.signal);
    }
  };
  const done = keepAlive();

  return {
    up,
    stop: async (graceMs) => {
      stopping.abort();
      settleUp('it was stopped');
      await current?.stop(graceMs);
      await done;
    },
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
