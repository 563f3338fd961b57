import { DatabaseError } from 'pg';
import type { Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';

/** As long as the product's own limits of a session, milliseconds. */
const [lockMs, idleInTransactionMs] = [2_000, 5_000];

/** The right to use the database, for a statement, or from the beginning of a transaction to its end. */
export interface Turn {
  /** A statement begins. */
  readonly touch: () => void;
  /** It is for a transaction. The server breaks off a session that is idle in it, such as that of a paused program. */
  readonly onIdle: (breakOff: () => void) => void;
  readonly isTransaction: () => boolean;
  readonly end: () => void;
}

/** One transaction at a time, as if all of them needed the same row. So a seed leads to the same events again. */
export interface Turns {
  /** Rejects, as a statement that waits for a lock does, when others have it for too long. */
  readonly take: (program: Program) => Promise<Turn>;
}

export function createTurns(scheduler: Scheduler): Turns {
  const waiting: (() => void)[] = [];
  let isTaken = false;

  function pass(): void {
    isTaken = false;
    waiting.shift()?.();
  }

  function begin(): Turn {
    isTaken = true;
    let isOver = false;
    let touchedAt = scheduler.now();
    let breakOff: (() => void) | undefined;
    const look = (): void => {
      if (isOver) return;
      const idleUntil = touchedAt + idleInTransactionMs;
      if (scheduler.now() >= idleUntil) breakOff?.();
      else scheduler.after(idleUntil - scheduler.now(), look);
    };
    return {
      touch: () => {
        touchedAt = scheduler.now();
      },
      onIdle: (run) => {
        breakOff = run;
        look();
      },
      isTransaction: () => breakOff !== undefined,
      end: () => {
        if (!isOver) pass();
        isOver = true;
      },
    };
  }

  return {
    take: (program) => {
      if (!isTaken) return Promise.resolve(begin());
      return new Promise((resolve, reject) => {
        const go = (): void => {
          cancel();
          if (program.isAlive()) resolve(begin());
          else pass();
        };
        const cancel = scheduler.after(lockMs, () => {
          waiting.splice(waiting.indexOf(go), 1);
          const error = new DatabaseError('canceling statement due to lock timeout', 0, 'error');
          reject(Object.assign(error, { code: '55P03' }));
        });
        waiting.push(go);
      });
    },
  };
}
