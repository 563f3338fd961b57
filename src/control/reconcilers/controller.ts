/** Writes the status of the cluster's objects: conditions, events, and the finalizer that keeps a deleted Model until its notice has run. */
import type { Compilation } from '../catalog/compile.ts';
import { type ObjectStatus, objectStatuses } from '../catalog/object-status.ts';
import { lagEvent, statusEvents } from '../catalog/status-events.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import type { KubeObject, ObjectEvent } from '../../core/catalog.ts';
import type { ObservedCatalog } from '../../core/observed-catalog.ts';
import { createStatusOverlays } from './status-overlays.ts';

/**
 * The newest objects of the cluster, and the newest compilation. An object that changed since that compilation has no
 * result in it yet.
 */
export interface CompiledObjects {
  readonly objects: readonly KubeObject[];
  readonly compilation: Compilation;
}

/** The controller's write access to the API server. */
interface StatusWriter {
  /** Merges into the status. Rejects with the API server's refusal. */
  readonly status: (object: KubeObject, status: object) => Promise<void>;
  /** Replaces the finalizers of exactly this version of the object. */
  readonly finalizers: (object: KubeObject, finalizers: readonly string[]) => Promise<void>;
  readonly event: (object: KubeObject, event: ObjectEvent) => void;
  /** Whether a write was refused because the object is gone, or has another version by now. */
  readonly isGoneOrChanged: (error: unknown) => boolean;
}

interface ControllerOptions {
  readonly clock: Clock;
  /** Undefined until the cluster has been read. */
  readonly latest: () => CompiledObjects | undefined;
  /** The observations of all replicas that are alive, this one included. */
  readonly replicas: () => Promise<readonly ObservedCatalog[]>;
  /** Whether this replica writes the status of objects. */
  readonly isLeading: () => boolean;
  readonly write: StatusWriter;
  readonly onError: (error: unknown) => void;
}

interface Controller {
  /** Call when something that conditions depend on has changed: the next pass begins soon. */
  readonly changed: () => void;
  /** Resolves when no pass is under way any more. */
  readonly close: () => Promise<void>;
}

/** Time between two passes when nothing is known to have changed. */
const everyMs = 2_000;
/** Wait before a pass after a change, because changes come in groups. */
const soonMs = 100;
const concurrency = 8;
/** A running Envoy applies a change within a second, an Envoy that is starting within half a minute. */
const lagMs = 30_000;
/** Longest time that a pass may run before requests get their turn. */
const sliceMs = 5;
/** An event about a lagging Envoy becomes due by time alone. So a pass without changes is repeated after this time. */
const repeatMs = 30_000;

/** The inputs of one pass. */
interface Pass extends CompiledObjects {
  readonly replicas: readonly ObservedCatalog[];
  readonly at: number;
}

export function startController(options: ControllerOptions): Controller {
  const { clock, isLeading, write, onError } = options;
  const overlays = createStatusOverlays<KubeObject>();
  /** Objects, by uid and generation, whose lag has been reported in an event. */
  const lagReported = new Set<string>();
  /** The inputs of the last pass that left nothing to write. */
  let settled: Pass | undefined;
  let isSettled = false;
  let closed = false;

  async function pass(): Promise<void> {
    if (!isLeading()) {
      overlays.clear();
      lagReported.clear();
      settled = undefined;
      return;
    }
    const replicas = await options.replicas();
    const latest = options.latest();
    if (latest === undefined) return;
    const now: Pass = { ...latest, replicas, at: clock.elapsed() };
    if (isSamePass(settled, now)) return;
    settled = undefined;
    isSettled = true;
    const objects = latest.objects.map(overlays.current);
    const statuses = objectStatuses(objects, { compilation: latest.compilation, replicas, now: clock.now() });
    // The workers share one generator: the statuses of thousands of objects are computed between the answers of the API
    // server, not at once.
    await Promise.all(Array.from({ length: concurrency }, () => work(statuses)));
    forget(new Set(objects.map(({ uid }) => uid)));
    if (isSettled) settled = now;
  }

  async function work(statuses: Iterator<ObjectStatus>): Promise<void> {
    let sliceBegan = clock.elapsed();
    for (let next = statuses.next(); next.done !== true; next = statuses.next()) {
      if (closed || !isLeading()) {
        isSettled = false;
        return;
      }
      await writeOne(next.value);
      if (clock.elapsed() - sliceBegan > sliceMs) {
        await new Promise<void>((resolve) => clock.after(0, resolve));
        sliceBegan = clock.elapsed();
      }
    }
  }

  async function writeOne(wanted: ObjectStatus): Promise<void> {
    const { object, finalizers, status, before, after, differs } = wanted;
    try {
      if (finalizers !== undefined) await write.finalizers(object, finalizers);
      if (finalizers !== undefined && object.deletedAt !== undefined) {
        write.event(object, leftEvent(wanted));
        // The API server removes an object with its last finalizer.
        if (finalizers.length === 0) return;
      }
      // The write of the finalizers may have taken longer than this replica's lease lasts.
      if (finalizers !== undefined && !isLeading()) isSettled = false;
      else if (differs) {
        await write.status(object, status);
        overlays.wrote(object, status);
        for (const event of statusEvents(before, after)) write.event(object, event);
      }
    } catch (error) {
      isSettled = false;
      // If the object is gone or has changed, the watch will report that.
      if (!write.isGoneOrChanged(error)) onError(error);
    }
    reportLag(wanted);
  }

  function reportLag({ object, after }: ObjectStatus): void {
    const event = lagEvent(after, clock.now(), lagMs);
    const key = `${object.uid} ${object.generation}`;
    if (event === undefined || lagReported.has(key)) return;
    lagReported.add(key);
    write.event(object, event);
  }

  function forget(alive: ReadonlySet<string>): void {
    overlays.keepOnly(alive);
    for (const key of lagReported) if (!alive.has(key.split(' ')[0] ?? '')) lagReported.delete(key);
  }

  const passes = repeatPasses(clock, () => pass().catch(onError));
  return {
    changed: passes.changed,
    close: () => {
      closed = true;
      return passes.close();
    },
  };
}

/** Runs one pass after another: soon after a change, otherwise every two seconds. `pass` never rejects. */
function repeatPasses(clock: Clock, pass: () => Promise<void>): Controller {
  let cancelTimer: CancelTimer = () => undefined;
  let running: Promise<void> | undefined;
  let isStale = false;
  let closed = false;

  function schedule(delayMs: number): void {
    cancelTimer();
    if (!closed) cancelTimer = clock.after(delayMs, start);
  }

  function start(): void {
    isStale = false;
    running ??= pass().finally(() => {
      running = undefined;
      schedule(isStale ? soonMs : everyMs);
    });
  }

  schedule(0);
  return {
    changed: () => {
      isStale = true;
      if (running === undefined) schedule(soonMs);
    },
    close: async () => {
      closed = true;
      cancelTimer();
      await running;
    },
  };
}

function isSamePass(before: Pass | undefined, now: Pass): boolean {
  return (
    before !== undefined &&
    now.at - before.at < repeatMs &&
    before.objects === now.objects &&
    before.compilation === now.compilation &&
    before.replicas.length === now.replicas.length &&
    before.replicas.every((view, index) => view === now.replicas[index])
  );
}

function leftEvent({ notice }: ObjectStatus): ObjectEvent {
  return notice?.isWaived === true
    ? { severity: 'Warning', reason: 'NoticeWaived', action: 'Remove', note: 'left the catalog without its notice' }
    : { severity: 'Normal', reason: 'Left', action: 'Remove', note: 'left the catalog, its notice has run' };
}
