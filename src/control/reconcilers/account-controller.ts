/** Brings the accounts that objects declare into the ledger, one object at a time, while this replica leads. */
import { readStatus } from '../catalog/conditions.ts';
import type { ObjectEvent } from '../../core/catalog.ts';
import { type CancelTimer, type Clock, every } from '../../core/clock.ts';
import {
  accountKinds,
  type AccountKind,
  type AccountObject,
  type DeclaredAccounts,
} from '../../books/core/declared-account.ts';
import { isObject } from '../../core/json.ts';
import type { FollowedAccounts } from '../kubernetes/follow-accounts.ts';
import type { KeySecrets } from '../core/key-secrets.ts';
import { type Reconciled, type Reconciliation, statusToWrite } from './account-status.ts';
import type { KeyTexts, ReconcileParts } from './reconcile-parts.ts';
import { createReconcileQueue } from './reconcile-queue.ts';
import { reconcileApiKey } from './reconcile-api-key.ts';
import { reconcileCredit } from './reconcile-credit.ts';
import { reconcileWorkspace } from './reconcile-workspace.ts';

/** The parts of the controller of accounts that do not depend on where the objects are. */
export interface AccountsParts {
  /** Namespaces whose objects declare accounts, with the gateway's own. */
  readonly namespaces: readonly string[];
  readonly store: DeclaredAccounts;
  readonly keyTexts: KeyTexts;
}

/** The controller's write access to the objects of a namespace. */
export interface AccountWriter {
  readonly status: (object: AccountObject, status: object) => Promise<void>;
  readonly finalizers: (object: AccountObject, finalizers: readonly string[]) => Promise<void>;
  readonly event: (object: AccountObject, event: ObjectEvent) => void;
}

interface AccountControllerOptions {
  readonly clock: Clock;
  /** The gateway's own namespace: its Workspaces have their own names in the ledger. */
  readonly namespace: string;
  readonly namespaces: readonly string[];
  readonly followed: Pick<FollowedAccounts, 'objects' | 'find' | 'isListed'>;
  readonly accounts: DeclaredAccounts;
  readonly secrets: KeySecrets;
  readonly keyTexts: KeyTexts;
  readonly isLeading: () => boolean;
  readonly writerOf: (namespace: string) => AccountWriter;
  /** Whether a write was refused because the object is gone, or has another version by now. */
  readonly isGoneOrChanged: (error: unknown) => boolean;
  readonly onError: (error: unknown) => void;
}

interface Done {
  readonly uid: string;
  readonly version: string;
  readonly isAccepted: boolean;
}

interface Retry {
  readonly version: string;
  readonly delayMs: number;
  /** The Workspace of a key or a credit. */
  readonly payer: ObjectId | undefined;
  readonly cancel: CancelTimer;
}

export interface AccountController {
  /** These objects have changed or are gone. Without them: any may have, or this replica begins or ceases to lead. */
  readonly changed: (objects?: readonly AccountObject[]) => void;
  /** Resolves when nothing is under way any more. */
  readonly close: () => Promise<void>;
}

/** The finalizer that keeps a deleted object until its account is released. */
export const accountsFinalizer = 'weir.dev/accounts';
/** Concurrent reconciles; they are I/O-bound. */
const concurrency = 16;
/** Figures, Secrets and due rotations are looked at this often. */
const refreshMs = 60_000;
const soonestRetryMs = 250;
const latestRetryMs = 15_000;

const reconcilers: Readonly<
  Record<AccountKind, (object: AccountObject, parts: ReconcileParts) => Promise<Reconciliation>>
> = { Workspace: reconcileWorkspace, ApiKey: reconcileApiKey, Credit: reconcileCredit };

const idOf = ({ kind, namespace, name }: Pick<AccountObject, 'kind' | 'namespace' | 'name'>): ObjectId =>
  `${kind}/${namespace}/${name}`;

const versions = new WeakMap<AccountObject, string>();

/** The Workspace that a key or a credit names. */
function payerOf({ kind, namespace, declared: { value } }: AccountObject): ObjectId | undefined {
  const spec = kind !== 'Workspace' && isObject(value) ? value['spec'] : undefined;
  const name = isObject(spec) ? spec['workspace'] : undefined;
  return typeof name === 'string' ? idOf({ kind: 'Workspace', namespace, name }) : undefined;
}

/** Everything of an object that a reconciliation depends on. Its status is not part of it. */
function versionOf(object: AccountObject): string {
  const { uid, generation, deletedAt, annotations } = object;
  const version = versions.get(object) ?? JSON.stringify([uid, generation, deletedAt, annotations]);
  versions.set(object, version);
  return version;
}

const isAccepted = (result: Reconciliation): boolean =>
  result.next !== 'gone' && result.statements.some(({ type, status }) => type === 'Accepted' && status === 'True');

type ObjectId = `${AccountKind}/${string}/${string}`;

export function startAccountController(options: AccountControllerOptions): AccountController {
  const { clock, followed, isLeading, writerOf, onError } = options;
  /** The version of each object that was reconciled, and of each that is being reconciled. */
  const done = new Map<ObjectId, Done>();
  const tried = new Map<ObjectId, string>();
  /** The status that was written over a version of an object. It counts until the watch has a newer version. */
  const written = new Map<string, { readonly over: string; readonly status: object }>();
  /** Objects that are tried again, with the version that was tried. */
  const retries = new Map<ObjectId, Retry>();
  /** Keys and credits that are tried again because they may wait for their Workspace, by its id. */
  const waiters = new Map<ObjectId, Set<ObjectId>>();
  let closed = false;

  const queue = createReconcileQueue<ObjectId>({
    ...{ clock, concurrency, run: runOne },
    maxOfNamespace: options.namespaces.length > 1 ? concurrency / 2 : concurrency,
    namespaceOf: (id) => id.split('/')[1] ?? '',
  });

  const parts: ReconcileParts = {
    ...{ clock, isLeading, accounts: options.accounts, secrets: options.secrets, keyTexts: options.keyTexts },
    find: followed.find,
    authorOf: ({ kind, namespace, name, generation, annotations }) => ({
      declarer: { namespace, name, isManaging: annotations['weir.dev/managed'] !== 'false' },
      by: {
        actor: { kind: 'controller', name: `${kind} ${namespace}/${name} generation ${generation}` },
        now: clock.now(),
      },
    }),
    // No name of an object has "_", so that the Workspaces of two namespaces never meet in the ledger.
    ledgerName: ({ namespace, name }) => (namespace === options.namespace ? name : `${namespace}_${name}`),
    hold: async (object) => {
      const { finalizers, namespace } = object;
      if (!finalizers.includes(accountsFinalizer))
        await writerOf(namespace).finalizers(object, [...finalizers, accountsFinalizer]);
    },
    release: async (object) =>
      writerOf(object.namespace).finalizers(
        object,
        object.finalizers.filter((one) => one !== accountsFinalizer),
      ),
    said: (object, type) => readStatus(object.status).conditions.find((one) => one.type === type),
  };

  function look(objects: readonly AccountObject[] = followed.objects()): void {
    if (closed) return;
    if (!isLeading()) {
      forget();
      return;
    }
    for (const { kind, namespace, name } of objects) {
      const id = idOf({ kind, namespace, name });
      const object = followed.find(kind, { namespace, name });
      if (object === undefined) {
        forgetOne(id);
        continue;
      }
      const version = versionOf(object);
      if ([done.get(id)?.version, tried.get(id), retries.get(id)?.version].includes(version)) continue;
      dropRetry(id);
      queue.changed(id);
    }
  }

  function forget(): void {
    for (const { cancel } of retries.values()) cancel();
    queue.clear();
    for (const map of [done, written, retries, waiters]) map.clear();
  }

  function forgetOne(id: ObjectId): void {
    done.delete(id);
    dropRetry(id);
  }

  async function runOne(id: ObjectId): Promise<void> {
    const found = objectOf(id);
    if (found === undefined || !isLeading()) {
      forgetOne(id);
      return;
    }
    // An object that is leaving without the finalizer was never held, or has been released. Others may keep it for ever.
    if (found.deletedAt !== undefined && !found.finalizers.includes(accountsFinalizer)) {
      settled(id, { object: found, isAccepted: false });
      return;
    }
    const overlay = written.get(found.uid);
    const object = overlay?.over === found.resourceVersion ? { ...found, status: overlay.status } : found;
    if (object === found) written.delete(found.uid);
    tried.set(id, versionOf(object));
    try {
      const result = await reconcilers[object.kind](object, parts);
      for (const event of result.events) writerOf(object.namespace).event(object, event);
      if (result.next !== 'gone') await report(object, result);
      // The Workspace for which a key or a credit waits wakes it.
      const latestMs = object.kind === 'Workspace' ? latestRetryMs : refreshMs;
      if (result.next === 'again') retry(id, { object, latestMs });
      else settled(id, { object, isAccepted: isAccepted(result) });
    } catch (error) {
      // The watch will bring the version that is newer.
      if (!options.isGoneOrChanged(error)) onError(error);
      retry(id, { object: found, latestMs: latestRetryMs });
    } finally {
      tried.delete(id);
    }
  }

  async function report(object: AccountObject, result: Reconciled): Promise<void> {
    const change = statusToWrite(object, result, clock.now());
    if (change === undefined) return;
    const writer = writerOf(object.namespace);
    await writer.status(object, change.status);
    written.set(object.uid, { over: object.resourceVersion, status: change.status });
    for (const event of change.events) writer.event(object, event);
  }

  function settled(
    id: ObjectId,
    { object, isAccepted }: { readonly object: AccountObject; readonly isAccepted: boolean },
  ): void {
    dropRetry(id);
    const { uid } = object;
    const before = done.get(id);
    const isNew = before?.uid !== uid || (isAccepted && !before.isAccepted);
    done.set(id, { uid, version: versionOf(object), isAccepted });
    const payer = payerOf(object);
    // Keys and credits may have waited for their Workspace, and a Workspace that leaves for its keys, as may another key
    // that names the same Secret.
    if (payer === undefined && isNew) wake(id);
    if (payer === undefined || object.deletedAt === undefined) return;
    if (retries.has(payer)) tryNow(payer);
    wake(payer);
  }

  function wake(workspace: ObjectId): void {
    for (const waiter of waiters.get(workspace) ?? []) tryNow(waiter);
  }

  function tryNow(id: ObjectId): void {
    dropRetry(id);
    queue.retry(id);
  }

  function retry(
    id: ObjectId,
    { object, latestMs }: { readonly object: AccountObject; readonly latestMs: number },
  ): void {
    if (closed) return;
    const version = versionOf(object);
    const before = retries.get(id);
    dropRetry(id);
    const delayMs = before?.version === version ? Math.min(latestMs, before.delayMs * 2) : soonestRetryMs;
    const payer = payerOf(object);
    retries.set(id, { version, delayMs, payer, cancel: clock.after(delayMs, () => queue.retry(id)) });
    if (payer === undefined) return;
    const others = waiters.get(payer) ?? new Set();
    waiters.set(payer, others.add(id));
  }

  function dropRetry(id: ObjectId): void {
    const dropped = retries.get(id);
    if (dropped === undefined) return;
    dropped.cancel();
    retries.delete(id);
    const { payer } = dropped;
    if (payer === undefined) return;
    const others = waiters.get(payer);
    others?.delete(id);
    if (others?.size === 0) waiters.delete(payer);
  }

  function objectOf(id: ObjectId): AccountObject | undefined {
    const [kind = '', namespace = '', name = ''] = id.split('/');
    const known = accountKinds.find((one) => one === kind);
    return known && followed.find(known, { namespace, name });
  }

  function refresh(): void {
    if (!isLeading()) return;
    const all = followed.objects();
    forgetOthers(new Set(all.map(idOf)), new Set(all.map(({ uid }) => uid)));
    // An object that is tried again has its time.
    for (const id of all.map(idOf)) if (!retries.has(id)) queue.refresh(id);
    const byNamespace = Map.groupBy(all, ({ namespace }) => namespace);
    for (const namespace of options.namespaces) {
      if (!followed.isListed(namespace)) continue;
      const objects = byNamespace.get(namespace) ?? [];
      const names = (kind: AccountKind) => objects.flatMap((one) => (one.kind === kind ? [one.name] : []));
      const present = { Workspace: names('Workspace'), ApiKey: names('ApiKey'), Credit: names('Credit') };
      void options.accounts.unlockAbsent(namespace, present).catch(onError);
    }
  }

  function forgetOthers(ids: ReadonlySet<ObjectId>, uids: ReadonlySet<string>): void {
    for (const id of [...done.keys(), ...retries.keys()]) if (!ids.has(id)) forgetOne(id);
    for (const uid of written.keys()) if (!uids.has(uid)) written.delete(uid);
  }

  const stopRefreshing = every(clock, refreshMs, refresh);
  look();
  return {
    changed: look,
    close: async () => {
      closed = true;
      stopRefreshing();
      forget();
      await queue.close();
    },
  };
}
