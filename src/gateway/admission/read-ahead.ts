/** One body, from its place in the queue until it was read. */
export type ReadTurn = ReturnType<ReturnType<typeof createReadAhead>['enter']>;

/** A body takes at most so much room. Otherwise one body of the maximum size would keep all others waiting. */
const maxRoomBytes = 2 * 1024 * 1024;
/** Ticks in which a body has to arrive. After that it takes no room. */
const maxFastTicks = 2;
/** Ticks that a body waits at most, because those before it may have been sent to keep others waiting. */
const maxWaitTicks = 4;

interface Queued {
  readonly room: number;
  readonly read: () => void;
  isReading: boolean;
  ticks: number;
}

/**
 * The order in which large bodies are received.
 * Receives only about so many bytes of large bodies before they are read. One thread reads them, one after the other. The bodies of 150
 * callers need not all be in memory while they wait for it: the rest stays with the callers.
 */
export function createReadAhead(maxBytes: number) {
  const queue = new Set<Queued>();
  const reading = new Set<Queued>();
  let taken = 0;

  function start(queued: Queued): void {
    queue.delete(queued);
    reading.add(queued);
    queued.isReading = true;
    queued.ticks = 0;
    taken += queued.room;
    queued.read();
  }

  function giveRoom(queued: Queued): void {
    queue.delete(queued);
    if (reading.delete(queued)) taken -= queued.room;
    for (const first of queue) {
      if (taken + first.room > maxBytes) return;
      start(first);
    }
  }

  return {
    /** Queues a body of about so many bytes. Calls `read` when its turn has come, at once if there is room. */
    enter: (bytes: number, read: () => void) => {
      const queued = { room: Math.min(bytes, maxRoomBytes), read, isReading: false, ticks: 0 };
      if (queue.size === 0 && taken + queued.room <= maxBytes) start(queued);
      else queue.add(queued);
      return {
        /** Call once a second while the body has not all arrived. A body that is slow takes no room from others, and none waits for long. */
        tick: (): void => {
          queued.ticks += 1;
          if (!queued.isReading && queued.ticks >= maxWaitTicks) start(queued);
          else if (queued.isReading && queued.ticks >= maxFastTicks) giveRoom(queued);
        },
        /** The body was read, or is not needed. */
        leave: (): void => giveRoom(queued),
      };
    },
  };
}
