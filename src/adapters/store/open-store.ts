import { Worker } from 'node:worker_threads';
import type { Credential } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { Store } from '../../core/store.ts';
import { createCredentialCache } from './credential-cache.ts';
import { createSettleQueue } from './settle-queue.ts';
import type { StoreReply, StoreRequest } from './worker-message.ts';

const rememberedKeys = 50_000;
/** Rows that may wait for the disk: some seconds of a busy service, about 10 MB. */
const maxWaitingRows = 10_000;
const maxBatch = 1_000;
/**
 * Least time between two commits. A commit costs ten times what a row in it does, so a busy service shares them; a row
 * that comes alone is not held back.
 */
const commitEveryMs = 2;
const maxLookUps = 10_000;

export interface OpenStore extends Store {
  /** Rows settled but not yet durable, for a gauge. */
  readonly waiting: () => number;
  /** Resolves, with the reason, if the store's thread ends before `close`: nothing more can be settled and the process should end. */
  readonly lost: Promise<Error>;
  /** Writes what waits, then closes the file. Nothing may be settled or looked up after it. */
  readonly close: () => Promise<void>;
}

interface LookUp {
  readonly promise: Promise<Credential | undefined>;
  readonly resolve: (credential: Credential | undefined) => void;
  readonly reject: (failure: Failure) => void;
}

/**
 * Opens the accounts and the ledger for a service, in a thread of their own; a missing file is made.
 * Rejects with a sentence that names the file when it cannot be opened.
 */
export async function openStore(options: { readonly file: string }): Promise<OpenStore> {
  const worker = new Worker(new URL('./store-worker.ts', import.meta.url), {
    workerData: options.file,
    name: 'weir-store',
  });
  const post = (request: StoreRequest) => worker.postMessage(request);
  const cache = createCredentialCache(rememberedKeys);
  const lookUps = new Map<string, LookUp>();
  let lastSent = 0;
  const queue = createSettleQueue({
    send: (outcomes) => {
      lastSent = performance.now();
      post({ kind: 'settle', outcomes });
    },
    defer: (run) => {
      const leftMs = lastSent + commitEveryMs - performance.now();
      if (leftMs > 0) setTimeout(run, leftMs);
      else setImmediate(run);
    },
    maxWaiting: maxWaitingRows,
    maxBatch,
  });
  const ready = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<Error>();
  const ended = Promise.withResolvers<void>();
  let phase: 'open' | 'closing' = 'open';

  worker.on('message', (reply: StoreReply) => {
    switch (reply.kind) {
      case 'ready':
        ready.resolve();
        break;
      case 'unusable':
        phase = 'closing';
        ready.reject(new Error(reply.message));
        break;
      case 'settled':
        // Before the waiting requests go on: whoever reads the balance next must see it less this cost.
        for (const [workspaceId, balance] of reply.balances) cache.setBalance(workspaceId, balance);
        queue.acknowledge(reply.faults);
        break;
      case 'found':
        cache.put(reply.hash, reply.credential);
        take(reply.hash)?.resolve(reply.credential);
        break;
      case 'not-searched':
        take(reply.hash)?.reject(unavailable(new Error(reply.message)));
        break;
      case 'changed':
        cache.clear();
        break;
    }
  });
  worker.on('error', (error) => stop(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) => {
    stop(new Error(`the store's thread ended with code ${code}`));
    ended.resolve();
  });

  function stop(reason: Error): void {
    const failure = unavailable(reason);
    queue.fail(failure);
    for (const { reject } of lookUps.values()) reject(failure);
    lookUps.clear();
    ready.reject(reason);
    if (phase === 'open') lost.resolve(reason);
  }

  function take(hash: string): LookUp | undefined {
    const lookUp = lookUps.get(hash);
    lookUps.delete(hash);
    return lookUp;
  }

  function lookUp(hash: string): Promise<Credential | undefined> {
    const underWay = lookUps.get(hash);
    if (underWay) return underWay.promise;
    if (phase !== 'open') return Promise.reject(unavailable(new Error('the store is closed')));
    if (lookUps.size >= maxLookUps)
      return Promise.reject(new Failure('overloaded', 'The service is overloaded. Retry with backoff.'));
    const started = Promise.withResolvers<Credential | undefined>();
    lookUps.set(hash, started);
    post({ kind: 'find', hash });
    return started.promise;
  }

  await ready.promise;
  return {
    findCredential: (keyHash) => {
      const known = cache.get(keyHash);
      if (known === 'absent') return undefined;
      return known ?? lookUp(keyHash);
    },
    settle: queue.add,
    waiting: queue.size,
    lost: lost.promise,
    close: async () => {
      await queue.drained();
      if (phase === 'open') post({ kind: 'close' });
      phase = 'closing';
      await ended.promise;
    },
  };
}

function unavailable(cause: Error): Failure {
  return new Failure('internal', 'The service could not reach its accounts. It is safe to retry.', { cause });
}
