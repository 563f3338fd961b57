import type { Clock } from '../../core/clock.ts';

interface Kind {
  begun: number;
  logged: number;
  suppressed: number;
}

const periodMs = 10_000;
/** Records of one kind in a period. */
const maxInPeriod = 20;
/** Kinds consist of our own names and codes, so there are few. The limit is a safeguard. */
const maxKinds = 10_000;

/** The log of a part of a program. */
export interface PartLog {
  readonly info: (facts: object, message: string) => void;
  readonly warn: (facts: object, message: string) => void;
  readonly error: (facts: object, message: string) => void;
}

/** Limits warnings and errors that repeat, each message separately, so that a lasting error does not fill the disk. */
export function limitRepeats(log: PartLog, clock: Pick<Clock, 'elapsed'>): PartLog {
  const repeats = createRepeatLimit({ now: clock.elapsed });
  const limited =
    (level: 'warn' | 'error') =>
    (facts: object, message: string): void => {
      const { isLogged, suppressed } = repeats.take(message);
      if (isLogged) log[level]({ ...facts, suppressed }, message);
    };
  return { info: (facts, message) => log.info(facts, message), warn: limited('warn'), error: limited('error') };
}

/** Logs one message of no trouble that strangers can cause, each of its kinds as often as a warning. */
export function limitInfo(
  { info }: Pick<PartLog, 'info'>,
  clock: Pick<Clock, 'elapsed'>,
  message: string,
): (kind: string, facts: object) => void {
  const repeats = createRepeatLimit({ now: clock.elapsed });
  return (kind, facts) => {
    const { isLogged, suppressed } = repeats.take(kind);
    if (isLogged) info({ ...facts, suppressed }, message);
  };
}

/**
 * Limits repeated records: decides which are logged.
 * At most 20 records of one kind are logged in ten seconds. The next logged record reports how many were left out.
 */
export function createRepeatLimit({ now }: { readonly now: () => number }) {
  const kinds = new Map<string, Kind>();
  return {
    /**
     * Counts one record of a kind. `suppressed`: how many of that kind were left out since the last logged one;
     * undefined: none.
     */
    take: (name: string): { readonly isLogged: boolean; readonly suppressed: number | undefined } => {
      const at = now();
      const known = kinds.get(name);
      const kind = known ?? { begun: at, logged: 0, suppressed: 0 };
      if (known === undefined) {
        if (kinds.size >= maxKinds) kinds.clear();
        kinds.set(name, kind);
      } else if (at - kind.begun >= periodMs) {
        kind.begun = at;
        kind.logged = 0;
      }
      if (kind.logged >= maxInPeriod) {
        kind.suppressed += 1;
        return { isLogged: false, suppressed: undefined };
      }
      kind.logged += 1;
      const suppressed = kind.suppressed === 0 ? undefined : kind.suppressed;
      kind.suppressed = 0;
      return { isLogged: true, suppressed };
    },
  };
}
