import { hash } from 'node:crypto';
import { keyedDigest } from './keyed-digest.ts';

/**
 * Names a conversation (`PromptShape.conversation`), so that its turns are kept on one route and one endpoint, whose engine has
 * their beginning in its prefix cache. Processes with the same secret give the same name, which reveals nothing about the prompt without
 * the secret. Undefined for a prompt that is too short to matter.
 */
export type AffinityOf = (conversation: number | undefined) => string | undefined;

/**
 * Returns a function that names conversations. `secret`: an unguessable text, asked for each time, because a service that starts
 * without its database has the one of all replicas only later.
 */
export function createAffinity(secret: () => string): AffinityOf {
  return (conversation) => (conversation === undefined ? undefined : keyedDigest(secret(), conversation));
}

/** Hexadecimal digits of a hash that make a whole number which is exact in JavaScript. */
const digits = 12;

/**
 * How strongly a conversation is drawn to something with this name and weight: the greatest pull wins (weighted rendezvous hashing:
 * Schindelhauer and Schomaker, Weighted Distributed Hash Tables, 2005). Each wins a share of the conversations that is
 * proportional to its weight, in every replica the same ones, and what comes, goes or changes its weight moves only its own share.
 */
export function pull(affinity: string, name: string, weight: number): number {
  const drawn = Number.parseInt(hash('sha256', `${affinity} ${name}`).slice(0, digits), 16);
  return -weight / Math.log((drawn + 0.5) / 16 ** digits);
}
