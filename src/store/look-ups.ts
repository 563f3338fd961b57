import type { Credential } from '../core/account.ts';
import { Failure } from '../core/failure.ts';

/** Questions to the store's thread about keys, each asked once however many wait for the answer. */
export interface LookUps {
  /** Rejects with `overloaded` when too many different ones wait. */
  readonly ask: (hash: string) => Promise<Credential | undefined>;
  readonly answer: (hash: string, credential: Credential | undefined) => void;
  readonly refuse: (hash: string, failure: Failure) => void;
  readonly refuseAll: (failure: Failure) => void;
}

const maxWaiting = 10_000;

interface Waiting {
  readonly promise: Promise<Credential | undefined>;
  readonly resolve: (credential: Credential | undefined) => void;
  readonly reject: (failure: Failure) => void;
}

export function createLookUps(send: (hash: string) => void): LookUps {
  const waiting = new Map<string, Waiting>();

  function take(hash: string): Waiting | undefined {
    const found = waiting.get(hash);
    waiting.delete(hash);
    return found;
  }

  return {
    ask: (hash) => {
      const underWay = waiting.get(hash);
      if (underWay) return underWay.promise;
      if (waiting.size >= maxWaiting) {
        return Promise.reject(new Failure('overloaded', 'The service is overloaded. Retry with backoff.'));
      }
      const begun = Promise.withResolvers<Credential | undefined>();
      waiting.set(hash, begun);
      send(hash);
      return begun.promise;
    },
    answer: (hash, credential) => take(hash)?.resolve(credential),
    refuse: (hash, failure) => take(hash)?.reject(failure),
    refuseAll: (failure) => {
      for (const { reject } of waiting.values()) reject(failure);
      waiting.clear();
    },
  };
}
