import type { Credential, Outcome, Store } from '../../src/core/account.ts';

export interface FakeStore extends Store {
  readonly outcomes: readonly Outcome[];
  /** Resolves when this many outcomes were handed over. */
  readonly settled: (count: number) => Promise<void>;
}

/** Accounts and a ledger in memory. `failure` is what settling ends in; `credentials` are found by their hash. */
export function createFakeStore(
  options: { readonly credentials?: ReadonlyMap<string, Credential>; readonly failure?: Error } = {},
): FakeStore {
  const outcomes: Outcome[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  return {
    outcomes,
    settled: (count) =>
      outcomes.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
    canSettle: () => true,
    findCredential: (hash) => options.credentials?.get(hash),
    settle: (outcome) => {
      outcomes.push(outcome);
      for (const { count, resolve } of waiting) if (outcomes.length >= count) resolve();
      return options.failure === undefined ? Promise.resolve() : Promise.reject(options.failure);
    },
  };
}
