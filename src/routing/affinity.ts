import { hash } from 'node:crypto';
import { keyedDigest } from './keyed-digest.ts';

/**
 * Names a conversation (`PromptShape.conversation`). All of its turns go to one route and one endpoint, whose engine has their
 * beginning in its prefix cache. Processes with the same secret return the same name. Without the secret, the name reveals
 * nothing about the prompt. Undefined: the prompt is too short to matter.
 */
export type AffinityOf = (conversation: number | undefined) => string | undefined;

/**
 * Returns a function that names conversations. `secret` returns an unguessable text. It is called each time, because a service that
 * starts without its database gets the common secret of all replicas later.
 */
export function createAffinity(secret: () => string): AffinityOf {
  return (conversation) => (conversation === undefined ? undefined : keyedDigest(secret(), conversation));
}

/** So many hexadecimal digits are a whole number that JavaScript represents exactly. */
const digits = 12;

/**
 * Computes how strongly a route or an endpoint with this name and weight attracts a conversation. The greatest pull wins (weighted
 * rendezvous hashing: Schindelhauer and Schomaker, Weighted Distributed Hash Tables, 2005). Each wins a share of the conversations
 * that is proportional to its weight, and the same ones in every replica. One that comes, goes or changes its weight moves only
 * its own share.
 */
export function pull(affinity: string, name: string, weight: number): number {
  const drawn = Number.parseInt(hash('sha256', `${affinity} ${name}`).slice(0, digits), 16);
  return -weight / Math.log((drawn + 0.5) / 16 ** digits);
}
