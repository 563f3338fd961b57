/** The accounts that the objects of a manifest folder declare: brought into the ledger by one service of the data folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isAccount } from '../catalog/compile.ts';
import { readObject } from '../catalog/read-object.ts';
import { type Secrets, secretValue } from '../catalog/secrets.ts';
import type { ObjectEvent } from '../../core/catalog.ts';
import { type Clock, every } from '../../core/clock.ts';
import type { AccountObject } from '../../books/core/declared-account.ts';
import { messageOf } from '../../core/failure.ts';
import type { KeySecrets } from '../core/key-secrets.ts';
import { type AccountObjects, folderNamespace, ObjectGone, openAccountObjects } from '../manifests/account-objects.ts';
import { createKeyFiles } from '../manifests/key-files.ts';
import { type Lock, tryLock } from '../../process/lock.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { type AccountController, type AccountsParts, startAccountController } from './account-controller.ts';
import type { CatalogReading } from './follow-catalog.ts';

interface FolderAccountsOptions {
  /** The data folder. */
  readonly data: string;
  readonly clock: Clock;
  readonly log: PartLog;
  readonly accounts: AccountsParts;
  /** The folder as it was read last. */
  readonly latest: () => CatalogReading;
}

export type FolderAccounts = ReturnType<typeof followFolderAccounts>;

/** The work of the service that holds the lock. */
interface Leading {
  readonly lock: Lock;
  readonly objects: AccountObjects;
  readonly controller: AccountController;
}

/** Of several services with one data folder, the next one begins so soon after the end of the first. */
const lookForLockMs = 2_000;

/**
 * Follows the accounts of a manifest folder. Until an object declares one, it does nothing. The key of an ApiKey is in
 * `account-keys/NAME/key` of the data folder, or in a Secret of the manifest folder.
 */
export function followFolderAccounts(options: FolderAccountsOptions) {
  const { data, clock, log, accounts, latest } = options;
  const file = join(data, 'accounts.json');
  let leading: Leading | undefined;
  let beginning: Promise<void> | undefined;
  let closed = false;
  /** The Secrets of the folder. */
  let secrets: Secrets = new Map();

  function take(objects: AccountObjects): void {
    const reading = latest();
    const { objects: declared, problems } = reading;
    secrets = secretsIn(reading);
    // A file that cannot be read, or a folder that is not mounted, must not revoke keys.
    objects.take(declared, { now: clock.now(), isWhole: problems.length === 0 && declared.length > 0 });
  }

  async function begin(lock: Lock): Promise<void> {
    const onError = (error: unknown): void => log.warn({ error: messageOf(error) }, 'reconcile failed');
    const objects = await openAccountObjects(file, onError);
    take(objects);
    const keyFiles = createKeyFiles(join(data, 'account-keys'));
    const controller = startAccountController({
      ...{ ...accounts, clock, onError, namespace: folderNamespace },
      followed: { objects: objects.objects, find: objects.find, isListed: () => true },
      secrets: withFolder(keyFiles, () => secrets),
      isLeading: () => leading !== undefined,
      writerOf: () => ({
        status: objects.status,
        finalizers: async (object, finalizers) => {
          await objects.finalizers(object, finalizers);
          const secret = secretNameOf(object);
          if (secret !== undefined && objects.find(object.kind, object) === undefined)
            await keyFiles.remove(object.name, secret);
          else controller.changed();
        },
        event: (object, event) => logEvent(log, object, event),
      }),
      isGoneOrChanged: (error) => error instanceof ObjectGone,
    });
    leading = { lock, objects, controller };
    controller.changed();
  }

  const hasAccounts = (): boolean =>
    existsSync(file) || latest().objects.some((object) => isAccount(readObject(object)));

  function look(): void {
    if (closed || !isNeeded || leading !== undefined || beginning !== undefined) return;
    const onError = (error: unknown): void => log.warn({ watch: 'accounts', error: messageOf(error) }, 'watch failed');
    try {
      const lock = tryLock(join(data, 'accounts.lock'));
      if (lock === undefined) return;
      beginning = begin(lock)
        .catch((error: unknown) => {
          lock.release();
          onError(error);
        })
        .finally(() => {
          beginning = undefined;
        });
    } catch (error) {
      onError(error);
    }
  }

  let isNeeded = hasAccounts();
  const cancelLook = every(clock, lookForLockMs, look);
  look();
  return {
    /** The folder was read again. */
    changed: (): void => {
      if (leading === undefined) {
        isNeeded ||= hasAccounts();
        look();
      } else {
        take(leading.objects);
        leading.controller.changed();
      }
    },
    /** Resolves when nothing is under way any more. */
    close: async (): Promise<void> => {
      closed = true;
      cancelLook();
      await beginning;
      if (leading === undefined) return;
      const { lock, objects, controller } = leading;
      await controller.close();
      await objects.close();
      lock.release();
    },
  };
}

function secretsIn({ objects }: CatalogReading): Secrets {
  const found = objects.map(readObject).flatMap((result) => (result.kind === 'Secret' ? [result.read.value] : []));
  // Of two with one name the first counts, as in the catalog.
  return new Map(found.toReversed().map((secret) => [`Secret/${secret.metadata.name}`, secret]));
}

/** A Secret of the manifest folder is the author's, and is taken before a file that Weir made. */
function withFolder(files: KeySecrets, inFolder: () => Secrets): KeySecrets {
  return {
    ...files,
    read: async (object, name) => {
      const secrets = inFolder();
      if (!secrets.has(`Secret/${name}`)) return files.read(object, name);
      const found = secretValue(secrets, { kind: 'Secret', name, key: 'key' });
      return { isOurs: false, text: found.ok ? found.value.trim() : undefined, resourceVersion: '' };
    },
  };
}

function secretNameOf({ declared }: AccountObject): string | undefined {
  const result = readObject(declared);
  return result.kind === 'ApiKey' ? result.read.value.spec.secretRef.name : undefined;
}

/** A folder has no Events, so the log has them. */
function logEvent(log: PartLog, { kind, name }: AccountObject, { severity, reason, note }: ObjectEvent): void {
  const fields = { object: `${kind} ${name}`, reason, note };
  if (severity === 'Warning') log.warn(fields, 'reconciled');
  else log.info(fields, 'reconciled');
}
