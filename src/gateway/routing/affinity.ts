import { textDigest, textDigests } from '../core/digests.ts';
import { keyedDigest } from './keyed-digest.ts';

/**
 * Names a conversation (`PromptShape.conversation`). All turns of a conversation go to one route and one endpoint, whose engine has
 * the beginning of the next turn in its prefix cache. Processes with the same secret return the same name. Without the secret, the
 * name reveals nothing about the prompt. Undefined: the prompt is too short to matter.
 */
export type AffinityOf = (conversation: number | undefined) => string | undefined;

/**
 * Returns a function that names conversations. `secret` returns an unguessable text. `secret` is called each time, because a
 * service that starts without its database gets the common secret of all replicas later.
 */
export function createAffinity(secret: () => string): AffinityOf {
  return (conversation) => (conversation === undefined ? undefined : keyedDigest(secret(), conversation));
}

/**
 * Computes how strongly a route or an endpoint with this name and weight attracts a conversation. The greatest pull wins (weighted
 * rendezvous hashing: Schindelhauer and Schomaker, Weighted Distributed Hash Tables, 2005). Each route or endpoint wins a share of
 * the conversations that is proportional to its weight. It wins the same conversations in every replica. If a route or endpoint is
 * added, is removed or changes its weight, only its own share moves.
 */
export function pull(affinity: string, name: string, weight: number): number {
  return -weight / Math.log((textDigest(`${affinity} ${name}`) + 0.5) / textDigests);
}

/** The one that attracts a conversation most, of these routes or endpoints. Replicas with the same key find the same one. */
export function ownerOf<Named extends { readonly name: string; readonly weight?: number }>(
  affinity: string,
  among: readonly Named[],
): Named | undefined {
  let owner: Named | undefined;
  let strongest = 0;
  for (const one of among) {
    const strength = pull(affinity, one.name, one.weight ?? 1);
    if (strength <= strongest) continue;
    strongest = strength;
    owner = one;
  }
  return owner;
}
