import { createHash } from 'node:crypto';

/**
 * Virtual time for everything in a world. One event runs at a time, and all promises that it settles run to quiescence
 * before the next one. Two events of one moment run in the order in which they were scheduled.
 */
export interface Scheduler {
  /** Virtual milliseconds since the world began. */
  readonly now: () => number;
  /** Schedules an event. Returns a function that takes it back. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** Runs all events up to a moment, and `check` after each. */
  readonly runUntil: (untilMs: number, check: () => void) => Promise<void>;
  /** Events that wait. */
  readonly waiting: () => number;
  readonly log: WorldLog;
}

interface Scheduled {
  readonly at: number;
  readonly number: number;
  readonly run: () => void;
  isOver: boolean;
}

/** Most events of one moment. More are a timer that is armed again and again for no time. */
const maxAtOnce = 100_000;

/** `quiet` resolves when everything that an event has begun has come to rest. */
export function createScheduler(quiet: () => Promise<void> = quiescence): Scheduler {
  const heap: Scheduled[] = [];
  let now = 0;
  let number = 0;
  let waiting = 0;
  const log = createWorldLog(() => now);

  return {
    now: () => now,
    log,
    waiting: () => waiting,
    after: (delayMs, run) => {
      number += 1;
      const event = { at: now + Math.max(0, delayMs), number, run, isOver: false };
      push(heap, event);
      waiting += 1;
      return () => {
        if (!event.isOver) waiting -= 1;
        event.isOver = true;
      };
    },
    runUntil: async (untilMs, check) => {
      let atOnce = 0;
      for (let [next] = heap; next !== undefined && next.at <= untilMs; [next] = heap) {
        pop(heap);
        if (next.isOver) continue;
        next.isOver = true;
        waiting -= 1;
        atOnce = next.at === now ? atOnce + 1 : 0;
        if (atOnce > maxAtOnce) throw new Error(`virtual time stands still at ${now} ms`);
        now = next.at;
        next.run();
        await quiet();
        check();
      }
      now = untilMs;
    },
  };
}

/** Resolves when no promise can go on: the loop begins its next turn only then. */
export function quiescence(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const isBefore = (one: Scheduled, other: Scheduled): boolean =>
  one.at < other.at || (one.at === other.at && one.number < other.number);

function push(heap: Scheduled[], event: Scheduled): void {
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(event, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Scheduled[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}

/** What has happened in a world. A digest of every line runs along. The newest lines are kept. */
export interface WorldLog {
  readonly write: (line: string) => void;
  readonly digest: () => string;
  /** The kept lines that contain a text. */
  readonly about: (text: string) => readonly string[];
  readonly newest: (count: number) => readonly string[];
}

const keptLines = 20_000;

function createWorldLog(now: () => number): WorldLog {
  const hash = createHash('sha256');
  let lines: string[] = [];
  return {
    write: (text) => {
      const line = `${now().toFixed(3)} ${text}`;
      hash.update(`${line}\n`);
      lines.push(line);
      if (lines.length > 2 * keptLines) lines = lines.slice(-keptLines);
    },
    digest: () => hash.copy().digest('hex'),
    about: (text) => lines.filter((line) => line.includes(text)),
    newest: (count) => lines.slice(-count),
  };
}
