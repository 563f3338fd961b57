import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

/** How many are open, per kind. */
export type Counts = ReadonlyMap<string, number>;

// A closed socket is gone a few turns of the loop later, a killed process when the system reports its end. Looks are counted, because a
// busy machine makes them rarer.
const pollMs = 20;
const mostLooks = Number(process.env['WEIR_LEAK_GRACE_MS'] ?? 3_000) / pollMs;

export const sockets = ['TCPSocketWrap', 'PipeWrap', 'TLSWrap', 'Http2Session', 'TCPConnectWrap', 'PipeConnectWrap'];
export const servers = ['TCPServerWrap', 'PipeServerWrap'];
export const processes = ['ProcessWrap'];
const others = ['FSEventWrap', 'StatWatcher', 'UDPWrap', 'MessagePort', 'Worker', 'FileHandle'];
const watched = new Set([...sockets, ...servers, ...processes, ...others]);

// Loaded before the tests, by leak-check.ts. The test runner arms timers of its own, so a count of all would hide one of ours behind one of its. It took its
// setTimeout before this file was loaded; callers from now on get one that remembers where it was called.
const armed = new Map<NodeJS.Timeout, Error>();
const keptAtMost = 5_000;

/** `hasRef` stays true after the end; the field is undocumented, and the test beside this file notices if it goes. */
function isWaiting(timer: NodeJS.Timeout): boolean {
  return timer.hasRef() && Reflect.get(timer, '_destroyed') === false;
}

function forgetDone(): void {
  for (const timer of armed.keys()) if (!isWaiting(timer)) armed.delete(timer);
}

function remembering<Arm extends typeof setTimeout | typeof setInterval>(arm: Arm): Arm {
  const remember = (...parameters: Parameters<Arm>): NodeJS.Timeout => {
    const timer: NodeJS.Timeout = Reflect.apply(arm, undefined, parameters);
    if (armed.size >= keptAtMost) forgetDone();
    armed.set(timer, new Error('armed'));
    return timer;
  };
  // `util.promisify(setTimeout)` finds its twin in a property.
  return Object.defineProperties(remember, Object.getOwnPropertyDescriptors(arm)) as Arm;
}

timers.setTimeout = globalThis.setTimeout = remembering(setTimeout);
timers.setInterval = globalThis.setInterval = remembering(setInterval);
syncBuiltinESMExports();

/** What keeps the process alive now, per kind: only the kinds that a test opens on purpose. */
export function openResources(): Counts {
  forgetDone();
  const counts = new Map<string, number>();
  if (armed.size > 0) counts.set('timer', armed.size);
  for (const kind of process.getActiveResourcesInfo()) {
    if (watched.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** The kinds of which there are more than before, as `2 TCPSocketWrap`. */
function added(before: Counts, after: Counts, tolerated: readonly string[] = []): readonly string[] {
  return [...after].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return more > 0 && !tolerated.includes(kind) ? [`${more} ${kind}`] : [];
  });
}

/**
 * Resolves when no more is open than before; rejects when that is not so after a moment of grace.
 * For a part of a test that must be clean by itself: take `openResources()` before it.
 */
export async function expectNothingAdded(before: Counts, tolerated: readonly string[] = []): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const left = added(before, openResources(), tolerated);
    if (left.length === 0) return;
    if (looks > mostLooks) throw new Error(`left open: ${left.join(', ')}${peers(left)}${places(left)}`);
    await sleep(pollMs);
  }
}

/** Where the open sockets lead: the first thing to know about such a failure. */
function peers(left: readonly string[]): string {
  if (!left.some((line) => sockets.some((kind) => line.endsWith(kind)))) return '';
  const handles: unknown = Reflect.apply(Reflect.get(process, '_getActiveHandles'), process, []);
  const known = (Array.isArray(handles) ? handles : []).flatMap((handle: unknown) => {
    const { localPort, remotePort } = handle as { localPort?: number; remotePort?: number };
    return remotePort === undefined ? [] : [`${localPort} → ${remotePort}`];
  });
  return known.length === 0 ? '' : ` (TCP ports: ${known.join(', ')})`;
}

/** Where the waiting timers were armed. */
function places(left: readonly string[]): string {
  if (!left.some((line) => line.endsWith('timer'))) return '';
  const frames = [...armed.values()].map((error) => error.stack?.split('\n').at(2)?.trim() ?? 'somewhere');
  return ` (timers: ${[...new Set(frames)].join(', ')})`;
}
