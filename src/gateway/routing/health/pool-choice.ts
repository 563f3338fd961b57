import type { AttemptEnd } from '../../core/health.ts';
import type { EndpointPick, PoolPrompt } from '../../../core/pool-prompt.ts';
import { ownerOf } from '../affinity.ts';
import { type EndpointPool, pickPool } from '../pool/pool.ts';
import type { BegunInPool, PoolCandidate } from '../pool/pool-state.ts';

/** The pool of a backend's endpoints, and how much this replica knows of the others. */
export interface PoolView {
  readonly pool: EndpointPool;
  /** Whether other replicas send prompts to the endpoints, and this replica does not know which. */
  readonly isApart: () => boolean;
}

/** A prompt for which an endpoint is picked. */
export interface PoolAsk extends PoolView {
  readonly prompt: PoolPrompt;
}

interface PickOptions {
  readonly now: number;
  readonly affinity: string | undefined;
  readonly turn: number;
}

/**
 * Picks one of these endpoints by cache, queue and speed. Replicas that do not know each other's prompts expect the beginning of a
 * conversation at the endpoint that rendezvous hashing finds, because it is the same in all of them.
 */
export function pickInPool(
  among: readonly PoolCandidate[],
  { pool, isApart, prompt }: PoolAsk,
  { now, affinity, turn }: PickOptions,
): { readonly name: string; readonly picked: EndpointPick } | undefined {
  const owner = affinity !== undefined && isApart() ? ownerOf(affinity, among)?.name : undefined;
  const picked = pool.pick(now, { prompt, among, owner, turn });
  const name = among[picked?.index ?? -1]?.name;
  if (picked === undefined || name === undefined) return undefined;
  const { why, heldTokens, firstMs } = picked;
  return { name, picked: { why, heldTokens, firstMs } };
}

/** A pool that takes part in a comparison, with its endpoints that a prompt may be sent to. */
export interface ComparedPool extends PoolView {
  readonly among: readonly PoolCandidate[];
}

/** The pool of which an endpoint would be picked if all were one pool, by its index. Undefined: there is no endpoint. */
export function soonestPool(
  pools: readonly ComparedPool[],
  { prompt, now, affinity, turn }: PickOptions & { readonly prompt: PoolPrompt },
): number | undefined {
  const isApart = pools.some((pool) => pool.isApart());
  const all = pools.flatMap(({ among }) => among);
  const owner = affinity !== undefined && isApart ? ownerOf(affinity, all)?.name : undefined;
  return pickPool(
    pools.map(({ pool, among }) => pool.survey(now, { prompt, among, owner })),
    turn,
  );
}

export type AttemptInPool = ReturnType<typeof followInPool>;

/** Begins an attempt in a pool, which follows it also where Envoy moves it. */
export function followInPool(
  { pool, prompt }: PoolAsk,
  { name, stream, isProbe, elapsed }: Omit<BegunInPool, 'prompt'> & { readonly elapsed: () => number },
) {
  let attempt = pool.begin(elapsed(), { name, prompt, stream, isProbe });
  return {
    output: (): void => void attempt.first(elapsed()),
    ended: (end: AttemptEnd): void => {
      if (end.kind !== 'complete') {
        attempt.failed();
        return;
      }
      if (end.prompt !== undefined)
        attempt.cached({ promptTokens: end.prompt.tokens, cachedTokens: end.prompt.cachedTokens });
      attempt.completed(elapsed(), end.tokens);
    },
    movedTo: (other: string): void => {
      attempt.failed();
      attempt = pool.begin(elapsed(), { name: other, prompt, stream });
    },
  };
}
