import type { Clock, CancelTimer } from '../core/clock.ts';

export interface WatchdogOptions {
  /** Asks the program once. Resolves to whether it answered; may take its time, or never resolve. Never rejects. */
  readonly ask: () => Promise<boolean>;
  /** Resolves when the program is up, if it ever is: from then on its silence counts, as after its first answer. */
  readonly isUp: Promise<void>;
  /** How long it may be silent. */
  readonly silenceMs: number;
  /** Called once, when it has been silent for longer. */
  readonly onSilent: () => void;
  readonly clock: Pick<Clock, 'after'>;
}

/** How long a program may take to come up or to answer first, at least: a machine that is busy starts it slowly. */
const startMs = 60_000;
const periodMs = 1_000;

/**
 * Watches whether a program answers, until it is disarmed. Silence is counted in the watchdog's own steps, each as long as it
 * was meant to be: a machine that was suspended, or is so busy that this process comes late too, does not count against
 * the program.
 */
export function watchAnswers({ ask, isUp, silenceMs, onSilent, clock }: WatchdogOptions): CancelTimer {
  const stepMs = Math.min(periodMs, silenceMs / 4);
  let patienceMs = Math.max(startMs, silenceMs);
  let silentMs = 0;
  let isAsking = false;
  let disarm: CancelTimer = () => undefined;

  const askOnce = async (): Promise<void> => {
    isAsking = true;
    const answered = await ask();
    isAsking = false;
    if (answered) heard();
  };
  const heard = (): void => {
    silentMs = 0;
    patienceMs = silenceMs;
  };
  void isUp.then(heard);
  const step = (): void => {
    if (silentMs >= patienceMs) {
      onSilent();
      return;
    }
    if (!isAsking) void askOnce();
    disarm = clock.after(stepMs, () => {
      silentMs += stepMs;
      step();
    });
  };
  step();
  return () => disarm();
}
