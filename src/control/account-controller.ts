/** Brings the accounts that objects declare into the ledger, one object at a time, while this replica leads. */
import { readStatus } from '../catalog/conditions.ts';
import type { ObjectEvent } from '../core/catalog.ts';
import { type CancelTimer, type Clock, every } from '../core/clock.ts';
import { accountKinds, type AccountKind, type AccountObject, type DeclaredAccounts } from '../core/declared-account.ts';
import type { FollowedAccounts } from '../kubernetes/follow-accounts.ts';
import type { KeySecrets } from '../core/key-secrets.ts';
import { type Reconciled, type Reconciliation, statusToWrite } from './account-status.ts';
import type { KeyTexts, ReconcileParts } from './reconcile-parts.ts';
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

interface Retry {
  readonly version: string;
  readonly delayMs: number;
  readonly cancel: CancelTimer;
}

export interface AccountController {
  /** Objects have changed, or this replica begins or ceases to lead. */
  readonly changed: () => void;
  /** Resolves when nothing is under way any more. */
  readonly close: () => Promise<void>;
}

/** The finalizer that keeps a deleted object until its account is released. */
export const accountsFinalizer = 'weir.dev/accounts';
/** Objects that are brought into the ledger at a time. Each waits for the API server most of its time. */
const concurrency = 16;
/** Figures, Secrets and due rotations are looked at this often. */
const refreshMs = 60_000;
const soonestRetryMs = 250;
const latestRetryMs = 15_000;

const reconcilers: Readonly<
  Record<AccountKind, (object: AccountObject, parts: ReconcileParts) => Promise<Reconciliation>>
> = { Workspace: reconcileWorkspace, ApiKey: reconcileApiKey, Credit: reconcileCredit };

const idOf = ({ kind, namespace, name }: Pick<AccountObject, 'kind' | 'namespace' | 'name'>): string =>
  `${kind}/${namespace}/${name}`;

const versions = new WeakMap<AccountObject, string>();

/** Everything of an object that a reconciliation depends on. Its status is not part of it. */
function versionOf(object: AccountObject): string {
  const { uid, generation, deletedAt, annotations } = object;
  const version = versions.get(object) ?? JSON.stringify([uid, generation, deletedAt, annotations]);
  versions.set(object, version);
  return version;
}

export function startAccountController(options: AccountControllerOptions): AccountController {
  const { clock, followed, isLeading, writerOf, onError } = options;
  /** The version of each object that was reconciled. */
  const done = new Map<string, string>();
  /** The status that was written over a version of an object. It counts until the watch has a newer version. */
  const written = new Map<string, { readonly over: string; readonly status: object }>();
  const queue = new Set<string>();
  const running = new Map<string, Promise<void>>();
  /** Objects that are tried again, with the version that was tried. */
  const retries = new Map<string, Retry>();
  let closed = false;

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

  function look(): void {
    if (closed) return;
    if (!isLeading()) {
      forget();
      return;
    }
    for (const object of followed.objects()) {
      const id = idOf(object);
      const version = versionOf(object);
      const waiting = retries.get(id);
      if (done.get(id) === version || waiting?.version === version) continue;
      waiting?.cancel();
      retries.delete(id);
      queue.add(id);
    }
    pump();
  }

  function forget(): void {
    for (const { cancel } of retries.values()) cancel();
    for (const map of [done, written, retries, queue]) map.clear();
  }

  function pump(): void {
    for (const id of queue) {
      if (running.size >= concurrency || closed) return;
      // The end of the reconciliation under way calls `pump`, which begins this object again.
      if (running.has(id)) continue;
      queue.delete(id);
      const run = runOne(id).finally(() => {
        running.delete(id);
        pump();
      });
      running.set(id, run);
    }
  }

  async function runOne(id: string): Promise<void> {
    const found = objectOf(id);
    if (found === undefined || !isLeading()) {
      done.delete(id);
      return;
    }
    // An object that is leaving without the finalizer was never held, or has been released.
    if (found.deletedAt !== undefined && !found.finalizers.includes(accountsFinalizer)) return;
    const overlay = written.get(found.uid);
    const object = overlay?.over === found.resourceVersion ? { ...found, status: overlay.status } : found;
    try {
      const result = await reconcilers[object.kind](object, parts);
      for (const event of result.events) writerOf(object.namespace).event(object, event);
      if (result.next !== 'gone') await report(object, result);
      if (result.next === 'again') retry(id, object);
      else settled(id, object);
    } catch (error) {
      // The watch will bring the version that is newer.
      if (!options.isGoneOrChanged(error)) onError(error);
      retry(id, found);
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

  function settled(id: string, object: AccountObject): void {
    retries.get(id)?.cancel();
    retries.delete(id);
    const isFirst = !done.has(id);
    done.set(id, versionOf(object));
    // Keys and credits may have waited for their Workspace, and a Workspace that leaves for its keys.
    const waits = object.kind === 'Workspace' ? isFirst : object.deletedAt !== undefined;
    if (!waits) return;
    for (const [waiting, { cancel }] of retries) {
      cancel();
      retries.delete(waiting);
      queue.add(waiting);
    }
  }

  function retry(id: string, object: AccountObject): void {
    if (closed) return;
    const version = versionOf(object);
    const before = retries.get(id);
    before?.cancel();
    const delayMs = before?.version === version ? Math.min(latestRetryMs, before.delayMs * 2) : soonestRetryMs;
    const cancel = clock.after(delayMs, () => {
      queue.add(id);
      pump();
    });
    retries.set(id, { version, delayMs, cancel });
  }

  function objectOf(id: string): AccountObject | undefined {
    const [kind = '', namespace = '', name = ''] = id.split('/');
    const known = accountKinds.find((one) => one === kind);
    return known && followed.find(known, { namespace, name });
  }

  function refresh(): void {
    if (!isLeading()) return;
    done.clear();
    look();
    const byNamespace = Map.groupBy(followed.objects(), ({ namespace }) => namespace);
    for (const namespace of options.namespaces) {
      if (!followed.isListed(namespace)) continue;
      const objects = byNamespace.get(namespace) ?? [];
      const names = (kind: AccountKind) => objects.flatMap((one) => (one.kind === kind ? [one.name] : []));
      const present = { Workspace: names('Workspace'), ApiKey: names('ApiKey'), Credit: names('Credit') };
      void options.accounts.unlockAbsent(namespace, present).catch(onError);
    }
  }

  const stopRefreshing = every(clock, refreshMs, refresh);
  look();
  return {
    changed: look,
    close: async () => {
      closed = true;
      stopRefreshing();
      forget();
      await Promise.all(running.values());
    },
  };
}
