import type { CancelTimer, Clock } from '../../core/clock.ts';
import { type BucketSize, hasToken, takeToken } from '../../core/token-bucket.ts';

interface ReconcileQueueOptions<Id extends string> {
  readonly clock: Pick<Clock, 'elapsed' | 'after'>;
  /** Most that run at a time, and most of one namespace among them. */
  readonly concurrency: number;
  readonly maxOfNamespace: number;
  readonly namespaceOf: (id: Id) => string;
  /** Never rejects. */
  readonly run: (id: Id) => Promise<void>;
}

type Urgency = 'soon' | 'calm';

interface Waiting<Id> {
  readonly soon: Set<Id>;
  readonly calm: Set<Id>;
  running: number;
}

/** The pace of an object that changes all the time. Its newest version counts, so those in between may be left out. */
const changePace: BucketSize = { rate: 1, burst: 10 };
/**
 * Most reconciles that begin in so many milliseconds. Those of objects that are refused wait for nothing: thousands of them
 * would keep the process from its requests.
 */
const maxInTurn = 16;
const turnMs = 20;
/** Objects whose pace is known. Beyond it, those that have been quiet are forgotten. */
const maxPaced = 5_000;

/**
 * The order in which objects are reconciled. Namespaces take turns, so that thousands of objects of one delay no other. An
 * object runs once at a time, and once more if it is added meanwhile.
 */
export function createReconcileQueue<Id extends string>(options: ReconcileQueueOptions<Id>) {
  const { clock, concurrency, namespaceOf, run } = options;
  const waiting = createWaitingList(options);
  const running = new Map<Id, Promise<void>>();
  /** Objects that were added while they ran. */
  const again = new Map<Id, Urgency>();
  let begunInTurn = 0;
  let cancelTurn: CancelTimer = () => undefined;
  let closed = false;
  const pace = createPace<Id>(clock, (id) => add(id, 'soon'));

  function add(id: Id, urgency: Urgency): void {
    if (closed) return;
    if (running.has(id)) {
      if (again.get(id) !== 'soon') again.set(id, urgency);
      return;
    }
    waiting.add(id, urgency);
    pump();
  }

  function pump(): void {
    while (running.size < concurrency && begunInTurn < maxInTurn && !closed) {
      const id = waiting.next();
      if (id === undefined) return;
      begin(id);
    }
  }

  function begin(id: Id): void {
    if (begunInTurn === 0) cancelTurn = clock.after(turnMs, nextTurn);
    begunInTurn += 1;
    const group = waiting.groupOf(namespaceOf(id));
    group.running += 1;
    const ended = run(id).finally(() => {
      running.delete(id);
      group.running -= 1;
      const urgency = again.get(id);
      again.delete(id);
      if (urgency === undefined) pump();
      else add(id, urgency);
    });
    running.set(id, ended);
  }

  function nextTurn(): void {
    begunInTurn = 0;
    pump();
  }

  function clear(): void {
    pace.clear();
    again.clear();
    waiting.clear();
  }

  return {
    /** The object has changed. One that changes all the time runs at a bounded pace. */
    changed: (id: Id): void => {
      if (!closed) pace.changed(id);
    },
    /** The object is tried again, before objects that are only refreshed. */
    retry: (id: Id): void => add(id, 'soon'),
    /** The object is looked at when its namespace has nothing else to do. */
    refresh: (id: Id): void => add(id, 'calm'),
    /** Forgets all that has not begun. */
    clear,
    /** Begins nothing more. Resolves when nothing runs. */
    close: async (): Promise<void> => {
      closed = true;
      cancelTurn();
      clear();
      await Promise.all(running.values());
    },
  };
}

/** The objects that wait, by namespace. */
function createWaitingList<Id extends string>({
  maxOfNamespace,
  namespaceOf,
}: Pick<ReconcileQueueOptions<Id>, 'maxOfNamespace' | 'namespaceOf'>) {
  /** The first namespace had its turn the longest time ago. */
  const groups = new Map<string, Waiting<Id>>();

  function groupOf(namespace: string): Waiting<Id> {
    return groups.getOrInsertComputed(namespace, () => ({ soon: new Set(), calm: new Set(), running: 0 }));
  }

  return {
    groupOf,
    add: (id: Id, urgency: Urgency): void => {
      const { soon, calm } = groupOf(namespaceOf(id));
      if (urgency === 'soon') {
        calm.delete(id);
        soon.add(id);
      } else if (!soon.has(id)) calm.add(id);
    },
    next: (): Id | undefined => {
      for (const [namespace, group] of groups) {
        if (group.running >= maxOfNamespace) continue;
        const [id] = group.soon.size > 0 ? group.soon : group.calm;
        if (id === undefined) continue;
        group.soon.delete(id);
        group.calm.delete(id);
        // Its next turn comes after those of all others.
        groups.delete(namespace);
        groups.set(namespace, group);
        return id;
      }
      return undefined;
    },
    clear: (): void => {
      for (const { soon, calm } of groups.values()) for (const ids of [soon, calm]) ids.clear();
    },
  };
}

/** Lets objects that change all the time through at `changePace`. */
function createPace<Id extends string>(clock: ReconcileQueueOptions<Id>['clock'], pass: (id: Id) => void) {
  /** Objects that have changed too often, with the timer of their next turn. */
  const held = new Map<Id, CancelTimer>();
  /** When the bucket of an object is full. */
  const fullAt = new Map<Id, number>();

  /** Takes a token from the object's bucket. Returns the wait until there is one, without taking it. */
  function takeTurn(id: Id): number {
    const now = clock.elapsed();
    const fullInMs = Math.max(0, (fullAt.get(id) ?? 0) - now);
    if (!hasToken(fullInMs, changePace)) return fullInMs - ((changePace.burst - 1) * 1000) / changePace.rate;
    if (fullAt.size >= maxPaced) for (const [known, at] of fullAt) if (at <= now) fullAt.delete(known);
    fullAt.set(id, now + takeToken(fullInMs, changePace));
    return 0;
  }

  function changed(id: Id): void {
    if (held.has(id)) return;
    const waitMs = takeTurn(id);
    if (waitMs <= 0) {
      pass(id);
      return;
    }
    const turn = (): void => {
      held.delete(id);
      changed(id);
    };
    held.set(id, clock.after(waitMs, turn));
  }

  return {
    changed,
    clear: (): void => {
      for (const cancel of held.values()) cancel();
      held.clear();
    },
  };
}
