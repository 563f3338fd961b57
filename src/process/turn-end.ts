/** Does some work when this turn of the event loop ends, after what came before it. The work must not throw. */
export type AtTurnEnd = (work: () => void) => void;

/**
 * Gathers what a turn of the event loop brings, from all sockets, and does it at once when they have been read. Node reads
 * them one by one, and runs all that follows from one before it reads the next: every request and every chunk would find
 * the processor's caches full of something else. Together they go through each stage one after the other, which takes a
 * third less time (measured), and what they write shares one write of the socket.
 */
export function createTurnEnd(later: (run: () => void) => void = setImmediate): AtTurnEnd {
  let gathered: (() => void)[] = [];

  function doAll(): void {
    const works = gathered;
    gathered = [];
    for (const work of works) work();
  }

  return (work) => {
    if (gathered.push(work) === 1) later(doAll);
  };
}
