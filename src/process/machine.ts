import { getHeapStatistics } from 'node:v8';
import { randomFillSync } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { setPriority, totalmem } from 'node:os';

/** Memory of the container, or else of the machine. */
export function machineMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Limit of the service's heap and buffers: half of the memory, because Envoy needs some, too; and no more than V8 allows. */
export function memoryLimitBytes(): number {
  return Math.min(machineMemoryBytes() / 2, getHeapStatistics().heap_size_limit);
}

/**
 * Most files that this process, or a child of it, may have open: the hard limit, to which Envoy and Node raise their
 * own limit. Undefined if there is none, or if the system does not report it.
 */
export function openFilesLimit(): number | undefined {
  try {
    const [, hard = ''] = /^Max open files +\S+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return hard === '' ? undefined : Number(hard);
  } catch {
    // Only Linux has /proc.
    return undefined;
  }
}

/**
 * Lowers the priority of the calling thread: for work that takes long and can wait while others need the processor. Does
 * nothing where the priority cannot be lowered. Only on Linux does a priority belong to a thread.
 */
export function lowerPriority(): void {
  if (process.platform === 'linux') tryPriority(0, 5);
}

/**
 * The lowest useful priority for a process that people use while other processes answer callers: it has a tenth of
 * their weight.
 */
const lowPriority = 10;

/**
 * Lowers the priority of all threads of this process, and of the threads that they start from now on. For a process
 * that runs beside others that answer callers. A processor that no other program needs is used as before.
 *
 * Linux weighs sessions against each other before it looks at the priorities of their threads, unless a container has a
 * control group of its own (sched(7), "The autogroup feature"). So a process that leads a session also lowers the
 * priority of the session. Any other process shares its session with the shell that started it, whose priority must not
 * change.
 */
export function lowerPriorityOfProcess(): void {
  if (process.platform !== 'linux') {
    tryPriority(0, lowPriority);
    return;
  }
  for (const thread of readdirSync('/proc/self/task')) tryPriority(Number(thread), lowPriority);
  try {
    if (isSessionLeader()) writeFileSync('/proc/self/autogroup', String(lowPriority));
  } catch {
    // The system has no autogroups, or does not allow the change.
  }
}

/** proc_pid_stat(5): the session is field 6. The name in field 2 may contain any characters. */
function isSessionLeader(): boolean {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid;
}

function tryPriority(of: number, priority: number): void {
  try {
    setPriority(of, priority);
  } catch {
    // Some sandboxes forbid a change, and the thread may have ended. The priority then stays the same.
  }
}

/** Bytes of an id: `timeBytes` bytes of the time, then random ones. */
const idBytes = 16;
const timeBytes = 6;
const pool = Buffer.alloc(idBytes * 256);
let at = pool.length;

/**
 * An id of 22 characters, 16 bytes in base64url: the time in milliseconds, then 80 random bits. The ledger keeps these bytes, and
 * finds a request by its time (`src/books/core/packed-id.ts`). Random bytes are drawn for 256 ids at once.
 */
export function newRequestId(): string {
  if (at === pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  pool.writeUIntBE(Date.now(), at, timeBytes);
  at += idBytes;
  return pool.toString('base64url', at - idBytes, at);
}

/** The disk of a folder; undefined where its file system does not report it. */
export function diskOf(folder: string): Promise<{ readonly free: number; readonly size: number } | undefined> {
  return statfs(folder).then(
    ({ bavail, blocks, bsize }) => ({ free: bavail * bsize, size: blocks * bsize }),
    () => undefined,
  );
}
