/** Tells the cluster how its objects fare: conditions, events, and the finalizer that keeps a deleted Model its notice. */
import { judgeObjects, type ObjectJudgement } from '../../catalog/judge-objects.ts';
import { laggardOf, type Notable, notableOf } from '../../catalog/notable.ts';
import { noticeFinalizer } from '../../catalog/notice.ts';
import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { KubeObject } from '../../core/catalog.ts';
import type { ReplicaView } from '../../core/replica.ts';
import type { Judged } from './kube-catalog.ts';

export interface ControllerOptions {
  readonly clock: Clock;
  /** The newest reading of the cluster and what was made of it; undefined while there is none. */
  readonly judged: () => Judged | undefined;
  /** Every replica that is alive, this one included. */
  readonly replicas: () => Promise<readonly ReplicaView[]>;
  /** Whether it is this replica's turn to write. */
  readonly isLeading: () => boolean;
  /** Merges into the status. Rejects with what the API server says. */
  readonly writeStatus: (object: KubeObject, status: object) => Promise<void>;
  /** Replaces the finalizers of just this version of the object. */
  readonly writeFinalizers: (object: KubeObject, finalizers: readonly string[]) => Promise<void>;
  readonly tell: (object: KubeObject, notable: Notable) => void;
  /** Whether a write was refused because its object is not there any more, or is another by now. */
  readonly isGoneOrChanged: (error: unknown) => boolean;
  readonly onError: (error: unknown) => void;
  /** Between two looks when nothing is heard. Default 2 s. */
  readonly everyMs?: number;
}

export interface Controller {
  /** Something has changed that conditions speak of: look soon. */
  readonly changed: () => void;
  /** Resolves when no look is under way any more. */
  readonly close: () => Promise<void>;
}

/** Changes come in groups. */
const soonMs = 100;
const concurrency = 8;
/** An Envoy takes a change within a second, one that is being started within half a minute. */
const lagMs = 30_000;

/** What was written, until the watch shows a newer version than the one it was written over. */
interface Overlay {
  readonly over: string;
  readonly status: object;
}

export function startController(options: ControllerOptions): Controller {
  const { clock, isLeading, onError, everyMs = 2_000 } = options;
  const overlays = new Map<string, Overlay>();
  /** Laggards that were told of, by their object and since when. */
  const toldLaggards = new Set<string>();
  let disarm: CancelTimer = () => undefined;
  let looking: Promise<void> | undefined;
  let isStale = false;
  let closed = false;
  /** The last look that left nothing to do. */
  let last: Look | undefined;
  let isSettled = false;

  function arm(delayMs: number): void {
    disarm();
    if (!closed) disarm = clock.after(delayMs, look);
  }

  function look(): void {
    isStale = false;
    looking ??= lookOnce()
      .catch(onError)
      .finally(() => {
        looking = undefined;
        arm(isStale ? soonMs : everyMs);
      });
  }

  async function lookOnce(): Promise<void> {
    if (!isLeading()) {
      overlays.clear();
      toldLaggards.clear();
      last = undefined;
      return;
    }
    const replicas = await options.replicas();
    const judged = options.judged();
    if (judged === undefined) return;
    const now: Look = { ...judged, replicas, at: clock.elapsed() };
    if (isSameLook(last, now)) return;
    last = undefined;
    isSettled = true;
    const objects = judged.objects.map(withOverlay);
    const judgements = judgeObjects({ objects, compilation: judged.compilation, replicas, now: clock.now() });
    // One generator for all lanes: a catalog of thousands is judged between the answers of the API server, not at once.
    await Promise.all(Array.from({ length: concurrency }, () => lane(judgements)));
    forget(new Set(objects.map(({ uid }) => uid)));
    if (isSettled) last = now;
  }

  async function lane(judgements: Iterator<ObjectJudgement>): Promise<void> {
    let slice = clock.elapsed();
    for (let next = judgements.next(); next.done !== true; next = judgements.next()) {
      if (closed || !isLeading()) {
        isSettled = false;
        return;
      }
      await settle(next.value);
      if (clock.elapsed() - slice > sliceMs) {
        await new Promise<void>((resolve) => clock.after(0, resolve));
        slice = clock.elapsed();
      }
    }
  }

  async function settle(judgement: ObjectJudgement): Promise<void> {
    const { object, status, before, after, differs } = judgement;
    const finalizers = finalizersOf(judgement, clock.now());
    try {
      if (finalizers !== undefined) await options.writeFinalizers(object, finalizers);
      if (finalizers !== undefined && object.deletedAt !== undefined) {
        options.tell(object, goneNote(judgement));
        // With its last finalizer the object has gone.
        if (finalizers.length === 0) return;
      }
      if (differs) {
        await options.writeStatus(object, status);
        overlays.set(object.uid, { over: object.resourceVersion, status });
        for (const notable of notableOf(before, after)) options.tell(object, notable);
      }
    } catch (error) {
      isSettled = false;
      // It is gone or another by now: the watch will tell.
      if (!options.isGoneOrChanged(error)) onError(error);
    }
    tellLaggard(judgement);
  }

  function tellLaggard({ object, after }: ObjectJudgement): void {
    const notable = laggardOf(after, clock.now(), lagMs);
    const key = `${object.uid} ${object.generation}`;
    if (notable === undefined || toldLaggards.has(key)) return;
    toldLaggards.add(key);
    options.tell(object, notable);
  }

  function withOverlay(object: KubeObject): KubeObject {
    const overlay = overlays.get(object.uid);
    return overlay?.over === object.resourceVersion ? { ...object, status: overlay.status } : object;
  }

  function forget(alive: ReadonlySet<string>): void {
    for (const uid of overlays.keys()) if (!alive.has(uid)) overlays.delete(uid);
    for (const key of toldLaggards) if (!alive.has(key.split(' ')[0] ?? '')) toldLaggards.delete(key);
  }

  arm(0);
  return {
    changed: () => {
      isStale = true;
      if (looking === undefined) arm(soonMs);
    },
    close: async () => {
      closed = true;
      disarm();
      await looking;
    },
  };
}

/** What a look went by. */
interface Look extends Judged {
  readonly replicas: readonly ReplicaView[];
  readonly at: number;
}

/** Without any change the time alone can have brought something: who lags for too long. */
const lookAnewMs = 30_000;

function isSameLook(before: Look | undefined, now: Look): boolean {
  return (
    before !== undefined &&
    now.at - before.at < lookAnewMs &&
    before.objects === now.objects &&
    before.compilation === now.compilation &&
    before.replicas.length === now.replicas.length &&
    before.replicas.every((view, index) => view === now.replicas[index])
  );
}

/** Judging makes way for requests after so long. */
const sliceMs = 5;

/**
 * The finalizers that a Model ought to have; undefined: those it has. A Model gets ours when something of it serves, so
 * that one that never did can be deleted at once; it loses it when it is deleted and its notice has run.
 */
function finalizersOf({ object, verdict, notice }: ObjectJudgement, now: number): readonly string[] | undefined {
  if (object.kind !== 'Model') return undefined;
  const has = object.finalizers.includes(noticeFinalizer);
  if (object.deletedAt === undefined) {
    const serves = verdict !== undefined && verdict.stand !== 'refused';
    return serves && !has ? [...object.finalizers, noticeFinalizer] : undefined;
  }
  const hasLeft = notice !== undefined && notice.leavesAt <= now;
  return has && hasLeft ? object.finalizers.filter((name) => name !== noticeFinalizer) : undefined;
}

function goneNote({ notice }: ObjectJudgement): Notable {
  return notice?.isWaived === true
    ? { severity: 'Warning', reason: 'NoticeWaived', action: 'Remove', note: 'left the catalog without its notice' }
    : { severity: 'Normal', reason: 'Left', action: 'Remove', note: 'left the catalog, its notice has run' };
}
