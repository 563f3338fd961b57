/** Brings the accounts that objects declare into the ledger, one object at a time, while this replica leads. */
import { readStatus } from '../catalog/conditions.ts';
import type { ObjectEvent } from '../../core/catalog.ts';
import { type Clock, every } from '../../core/clock.ts';
import { accountKinds, type AccountKind, type AccountObject } from '../../books/core/declared-account.ts';
import type { FollowedAccounts } from '../kubernetes/follow-accounts.ts';
import { createAccountOutcomes, type FaultyAccounts, idOf, type ObjectId, versionOf } from './account-outcomes.ts';
import { type Reconciliation, statusToWrite } from './account-status.ts';
import type { ReconcileParts } from './reconcile-parts.ts';
import { createReconcileQueue } from './reconcile-queue.ts';
import { reconcileApiKey } from './reconcile-api-key.ts';
import { reconcileCredit } from './reconcile-credit.ts';
import { reconcileIdentity } from './reconcile-identity.ts';
import { reconcileWorkspace } from './reconcile-workspace.ts';
import type { DeclaredAccounts } from './store-port.ts';
import { createStatusOverlays, type StatusOverlays } from './status-overlays.ts';

/** The parts of the controller of accounts that do not depend on where the objects are. */
export interface AccountsParts extends Pick<ReconcileParts, 'keyTexts' | 'checkIdentity'> {
  /** Namespaces whose objects declare accounts, with the gateway's own. */
  readonly namespaces: readonly string[];
  readonly store: DeclaredAccounts;
  /** While this replica leads, the controller keeps it as it is now. */
  readonly faulty: FaultyAccounts;
}

/** The controller's write access to the objects of a namespace. */
interface AccountWriter {
  readonly status: (object: AccountObject, status: object) => Promise<void>;
  readonly finalizers: (object: AccountObject, finalizers: readonly string[]) => Promise<void>;
  readonly event: (object: AccountObject, event: ObjectEvent) => void;
}

interface AccountControllerOptions extends AccountsParts, Pick<ReconcileParts, 'secrets' | 'isLeading'> {
  readonly clock: Clock;
  /** The gateway's own namespace: its Workspaces have their own names in the ledger. */
  readonly namespace: string;
  readonly followed: Pick<FollowedAccounts, 'objects' | 'find' | 'isListed'>;
  readonly writerOf: (namespace: string) => AccountWriter;
  /** Whether a write was refused because the object is gone, or has another version by now. */
  readonly isGoneOrChanged: (error: unknown) => boolean;
  readonly onError: (error: unknown) => void;
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
const latestRetryMs = 15_000;

const reconcilers: Readonly<
  Record<AccountKind, (object: AccountObject, parts: ReconcileParts) => Promise<Reconciliation>>
> = { Workspace: reconcileWorkspace, ApiKey: reconcileApiKey, Credit: reconcileCredit, Identity: reconcileIdentity };

const isAccepted = (result: Reconciliation): boolean =>
  result.next !== 'gone' && result.statements.some(({ type, status }) => type === 'Accepted' && status === 'True');

export function startAccountController(options: AccountControllerOptions): AccountController {
  const { clock, faulty, followed, isLeading, onError } = options;
  /** The version of each object that is being reconciled. */
  const tried = new Map<ObjectId, string>();
  const overlays = createStatusOverlays<AccountObject>();
  const parts = reconcileParts(options);
  let closed = false;

  const queue = createReconcileQueue<ObjectId>({
    clock,
    concurrency,
    run: runOne,
    maxOfNamespace: options.namespaces.length > 1 ? concurrency / 2 : concurrency,
    namespaceOf: (id) => id.split('/')[1] ?? '',
  });
  const outcomes = createAccountOutcomes(clock, { retryNow: queue.retry, faulty });

  function look(objects: readonly AccountObject[] = followed.objects()): void {
    if (closed) return;
    if (!isLeading()) {
      forget();
      return;
    }
    for (const changed of objects) {
      const id = idOf(changed);
      const object = followed.find(changed.kind, changed);
      if (object === undefined) {
        outcomes.forget(id);
        continue;
      }
      const version = versionOf(object);
      if (tried.get(id) === version || outcomes.has(id, version)) continue;
      outcomes.dropRetry(id);
      queue.changed(id);
    }
  }

  function forget(): void {
    queue.clear();
    outcomes.clear();
    overlays.clear();
  }

  async function runOne(id: ObjectId): Promise<void> {
    const found = findObject(followed, id);
    if (found === undefined || !isLeading()) {
      outcomes.forget(id);
      return;
    }
    // An object that is leaving without the finalizer was never held, or has been released. Others may keep it for ever.
    if (found.deletedAt !== undefined && !found.finalizers.includes(accountsFinalizer)) {
      outcomes.settle(found, false);
      return;
    }
    const object = overlays.current(found);
    tried.set(id, versionOf(object));
    try {
      const result = await reconcilers[object.kind](object, parts);
      outcomes.note(id, result.next === 'gone' ? [] : result.statements);
      await report(object, result, { overlays, options });
      // The Workspace for which an object waits wakes it.
      const latestMs = object.kind === 'Workspace' ? latestRetryMs : refreshMs;
      if (result.next === 'again') retryLater(object, latestMs);
      else outcomes.settle(object, isAccepted(result));
    } catch (error) {
      // The watch will bring the version that is newer.
      if (!options.isGoneOrChanged(error)) onError(error);
      retryLater(found, latestRetryMs);
    } finally {
      tried.delete(id);
    }
  }

  function retryLater(object: AccountObject, latestMs: number): void {
    if (!closed) outcomes.retryLater(object, latestMs);
  }

  function refresh(): void {
    if (!isLeading()) return;
    const all = followed.objects();
    const ids = all.map(idOf);
    outcomes.keepOnly(new Set(ids));
    overlays.keepOnly(new Set(all.map(({ uid }) => uid)));
    // An object that is tried again has its time.
    for (const id of ids) if (!outcomes.isRetried(id)) queue.refresh(id);
    unlockAbsent(options, all);
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

/** Writes the events and the status of an object that was reconciled. */
async function report(
  object: AccountObject,
  result: Reconciliation,
  {
    overlays,
    options,
  }: { readonly overlays: StatusOverlays<AccountObject>; readonly options: AccountControllerOptions },
): Promise<void> {
  const writer = options.writerOf(object.namespace);
  for (const event of result.events) writer.event(object, event);
  if (result.next === 'gone') return;
  const change = statusToWrite(object, result, options.clock.now());
  if (change === undefined) return;
  await writer.status(object, change.status);
  overlays.wrote(object, change.status);
  for (const event of change.events) writer.event(object, event);
}

/** What the reconcilers of the three kinds are given. */
function reconcileParts(options: AccountControllerOptions): ReconcileParts {
  const { clock, isLeading, store: accounts, secrets, keyTexts, checkIdentity, followed, writerOf } = options;
  return {
    ...{ clock, isLeading, accounts, secrets, keyTexts, checkIdentity, find: followed.find },
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
}

function findObject({ find }: Pick<FollowedAccounts, 'find'>, id: ObjectId): AccountObject | undefined {
  const [kind = '', namespace = '', name = ''] = id.split('/');
  const known = accountKinds.find((one) => one === kind);
  return known && find(known, { namespace, name });
}

/** Accounts whose object is gone without its finalizer, in the namespaces that are listed, can be changed by hand again. */
function unlockAbsent(options: AccountControllerOptions, all: readonly AccountObject[]): void {
  const byNamespace = Map.groupBy(all, ({ namespace }) => namespace);
  for (const namespace of options.namespaces) {
    if (!options.followed.isListed(namespace)) continue;
    const objects = byNamespace.get(namespace) ?? [];
    const names = (kind: AccountKind) => objects.flatMap((one) => (one.kind === kind ? [one.name] : []));
    const present = {
      ...{ Workspace: names('Workspace'), ApiKey: names('ApiKey'), Credit: names('Credit') },
      Identity: names('Identity'),
    };
    void options.store.unlockAbsent(namespace, present).catch(options.onError);
  }
}
