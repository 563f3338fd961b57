import type { CancelTimer, Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/failure.ts';
import type { Problem, ProblemReport } from '../core/problem.ts';
import { findProblems, type Observed } from '../problems/find-problems.ts';
import { createSlices } from '../../process/turns.ts';
import { createProblemTracker } from '../problems/track-problems.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';

interface ProblemWatchOptions {
  readonly clock: Clock;
  readonly observe: () => Promise<Observed>;
  /** The catalog that is served. */
  readonly catalog: () => { readonly version: string; readonly servedAt: number };
  /** Keeps the list over a restart. */
  readonly file: {
    readonly load: () => Promise<readonly Problem[]>;
    readonly save: (problems: readonly Problem[]) => Promise<void>;
  };
  /** Called with the first report, and whenever the list or the catalog changes. */
  readonly onChange: (report: ProblemReport) => void;
  readonly log: Pick<PartLog, 'warn'>;
}

export type ProblemWatch = Awaited<ReturnType<typeof watchProblems>>;

const everyMs = 2_000;
/** The shortest rest after a look. While the database is down, every bill changes the journal. */
const minRestMs = 200;
/** A look at thousands of objects takes long. Looks take at most a twentieth of the time. */
const restPerLook = 19;

/** Looks for problems every two seconds, and keeps the list of the current ones. */
export async function watchProblems(options: ProblemWatchOptions) {
  const { clock, observe, catalog, file, onChange, log } = options;
  const tracker = createProblemTracker({ clock, kept: await file.load() });
  let cancel: CancelTimer = () => undefined;
  let looking: Promise<void> | undefined;
  let isAskedAgain = false;
  /** When the next look may begin, by the monotonic clock. */
  let restedAt = 0;
  let isClosed = false;
  let version: string | undefined;
  let saving = Promise.resolve();

  function report(): ProblemReport {
    const { version: served, servedAt } = catalog();
    return {
      catalog: { version: served, served_at: new Date(servedAt).toISOString() },
      problems: [...tracker.current()],
    };
  }

  async function lookOnce(): Promise<void> {
    const before = new Set(tracker.current().map(({ id }) => id));
    const look = await findProblems(await observe(), { isListed: tracker.isListed, inSlices: createSlices() });
    const hasChanged = tracker.look(look);
    if (isClosed || (!hasChanged && version === catalog().version)) return;
    version = catalog().version;
    onChange(report());
    // Figures change with every look: the file is written when a problem appears or ends.
    const isNews = before.symmetricDifference(new Set(tracker.current().map(({ id }) => id))).size > 0;
    if (isNews) saving = saving.then(() => file.save(tracker.current())).catch(unsaved);
  }

  const unsaved = (error: unknown): void =>
    log.warn({ error: messageOf(error) }, 'writing the problem list to disk failed');

  function look(): void {
    cancel();
    isAskedAgain = false;
    const begun = clock.elapsed();
    looking = lookOnce()
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, 'problem check failed'))
      .finally(() => {
        looking = undefined;
        if (isClosed) return;
        const minMs = Math.max(minRestMs, (clock.elapsed() - begun) * restPerLook);
        restedAt = clock.elapsed() + minMs;
        cancel = clock.after(isAskedAgain ? minMs : Math.max(everyMs, minMs), look);
      });
  }

  function lookNow(): void {
    if (isClosed) return;
    if (looking !== undefined) {
      isAskedAgain = true;
      return;
    }
    cancel();
    const leftMs = restedAt - clock.elapsed();
    if (leftMs <= 0) look();
    else cancel = clock.after(leftMs, look);
  }

  look();
  return {
    report,
    /** Call when something has changed. Looks at once, or as soon as the rest after the last look is over. */
    lookNow,
    /** Stops looking. Resolves when the last look and the last write have ended. */
    close: async (): Promise<void> => {
      isClosed = true;
      cancel();
      await looking;
      await saving;
    },
  };
}
