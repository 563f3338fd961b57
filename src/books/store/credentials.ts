import type { Credential, Store } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import { createCredentialCache, createLookUps, type Moment, type Remembered } from '../accounts/credential-cache.ts';
import type { DatabaseLocation } from '../databases/database.ts';
import type { StoreTime } from '../databases/machine.ts';
import type { StoreReply } from './worker-message.ts';

type ReplyOf<Kind extends StoreReply['kind']> = Extract<StoreReply, { readonly kind: Kind }>;

interface CredentialsOptions {
  readonly kind: DatabaseLocation['kind'];
  readonly time: StoreTime;
  readonly isOpen: () => boolean;
  readonly isDatabaseUp: () => boolean;
  /** Whether nothing was asked of the store's thread for a while, so that it may report changes only once a second. */
  readonly isQuiet: () => boolean;
  /** Asks the store's thread for a key. */
  readonly ask: (hash: string) => void;
}

const rememberedKeys = 50_000;
/**
 * How long a credential is used after it was read. SQLite reports changes several times a second. PostgreSQL reports
 * them only if no pooler is in between. So keys in use are read again in time, and every change takes effect within a
 * second.
 */
const goodForMs = { sqlite: 5_000, postgres: 800, quiet: 800 } as const;
const maxReadAgain = 5_000;
/** Unused keys read again at a time. At this rate the service reads all remembered keys within 30 s. */
const maxUnusedKeys = 500;
/** How long a known key works while the database is down. An operator cannot suspend it in that time. */
const downForMs = 30 * 60_000;

/** The credentials of callers: remembered, and read by the store's thread. */
export function createCredentials({ kind, time, isOpen, isDatabaseUp, isQuiet, ask }: CredentialsOptions) {
  const cache = createCredentialCache(rememberedKeys);
  const lookUps = createLookUps(ask);

  function moment(): Moment {
    return { now: time.now(), elapsed: time.elapsed() };
  }

  function isWithin({ confirmedAt }: Remembered, ms: number): boolean {
    return time.elapsed() - confirmedAt < ms;
  }

  /** While the database is down, known keys are good for longer. An unknown key can be neither accepted nor refused. */
  function notSearched(hash: string, failure: Failure): void {
    const known = cache.get(hash, moment());
    if (known?.credential !== undefined && isWithin(known, downForMs)) lookUps.answer(hash, known.credential);
    else lookUps.refuse(hash, failure);
  }

  /** Takes everything but money, of which more is known here. */
  function takeBehind(hash: string, found: Credential | undefined): void {
    const known = cache.get(hash, moment())?.credential;
    if (known === undefined) return;
    const { balance } = known.workspace;
    cache.put(hash, found && { ...known, key: found.key, workspace: { ...found.workspace, balance } }, moment());
  }

  function lookUp(hash: string): Promise<Credential | undefined> {
    return isOpen() ? lookUps.ask(hash) : Promise.reject(unavailable(new Error('the store is closed')));
  }

  return {
    find: (keyHash: string): ReturnType<Store['findCredential']> => {
      const known = cache.get(keyHash, moment());
      if (known === undefined) return lookUp(keyHash);
      if (!known.isDoubted && isWithin(known, goodForMs[isQuiet() ? 'quiet' : kind])) return known.credential;
      // The database is down, so it is not asked.
      if (!isDatabaseUp() && known.credential !== undefined && isWithin(known, downForMs)) return known.credential;
      return lookUp(keyHash);
    },
    take: (reply: ReplyOf<'found' | 'not-searched' | 'changed' | 'confirmed'>): void => {
      switch (reply.kind) {
        case 'found':
          for (const [hash, credential] of reply.found) {
            if (reply.isBehind) takeBehind(hash, credential);
            else {
              cache.put(hash, credential, moment());
              lookUps.answer(hash, credential);
            }
          }
          break;
        case 'not-searched':
          for (const hash of reply.hashes) notSearched(hash, unavailable(new Error(reply.message)));
          break;
        case 'changed':
          cache.doubt();
          break;
        case 'confirmed':
          cache.confirm(time.elapsed());
          break;
      }
    },
    /** Applies the costs of rows that have become durable to what is remembered. */
    settled: (reply: ReplyOf<'settled' | 'journaled'>): void => {
      if (reply.kind === 'journaled') for (const [workspaceId, cost] of reply.costs) cache.charge(workspaceId, cost);
      else for (const [workspaceId, balance] of reply.balances) cache.setBalance(workspaceId, balance);
      for (const spending of reply.spendings) cache.spend(spending, moment());
    },
    /** Keys to read again before they are too old: those used since the last call, and some unused ones. */
    takeOutdated: (): readonly string[] => {
      const used = kind === 'postgres' ? cache.takeUsed(maxReadAgain) : [];
      return [...used, ...cache.outdated(time.elapsed(), maxUnusedKeys)];
    },
    refuseAll: lookUps.refuseAll,
  };
}

export function unavailable(cause: Error): Failure {
  return new Failure('internal', 'The service could not reach its accounts. It is safe to retry.', { cause });
}
