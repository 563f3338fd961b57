import { z } from 'zod';
import { type Clock, every } from '../../core/clock.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { blockedScript, failureScript, keyBlocksScript } from './valkey-scripts.ts';

interface SharedBlocksOptions {
  readonly link: ValkeyLink;
  /** A network with more failures than this within the window, over all replicas, is blocked. */
  readonly tolerated: number;
  readonly windowMs: number;
  readonly blockMs: number;
  /** Called when a replica has found that a network must be blocked. */
  readonly block: (network: string, forMs: number) => void;
}

const channel = 'weir:blocked';
/** Most blocks that are read: as many as an address gate remembers. */
const maxRead = 100_000;

/**
 * Counts failed authentications over all replicas, and sends every replica the networks to block. A replica that connects, or
 * connects again, reads the current blocks. While the server is down, each replica counts by itself. Returns the function to call
 * for each failure; it never waits for the server.
 */
export function shareBlocks({
  link,
  tolerated,
  windowMs,
  blockMs,
  block,
}: SharedBlocksOptions): (network: string) => void {
  const blockedKey = link.key('blocked-until');
  const take = (message: unknown): void => {
    const [, forMs, network] = /^(\d{1,15}) ([\da-f.:/]{1,64})$/i.exec(String(message)) ?? [];
    // A block ends in time, whatever the server says and wherever its clock was.
    if (network !== undefined) block(network, Math.min(Number(forMs), blockMs));
  };
  const catchUp = async (): Promise<void> => {
    const blocked = await link.run(blockedScript, [blockedKey], [String(maxRead)]);
    if (Array.isArray(blocked)) blocked.forEach(take);
  };
  link.subscribe(channel, {
    take,
    // When the blocks cannot be read now, they are read with the next connection.
    listening: () => void catchUp().catch(() => undefined),
  });
  const args = [tolerated, windowMs, blockMs].map(String);
  return (network) => {
    if (!link.isUp()) return;
    // The address comes from a header: only text with the shape of an address becomes part of a Valkey key.
    if (!/^[\da-f.:/]{1,64}$/i.test(network)) return;
    link.run(failureScript, [link.key(`failed:${network}`), blockedKey], [network, ...args, channel]).catch(link.drop);
  };
}

interface SharedKeyBlocksOptions {
  /** Undefined: there is no other replica. */
  readonly link: Pick<ValkeyLink, 'isUp' | 'key' | 'run'> | undefined;
  readonly clock: Clock;
  readonly blocks: { readonly take: (text: string) => void; readonly texts: () => readonly string[] };
}

const everyMs = 500;
const replySchema = z.array(z.string());

/** Carries the blocks of keys between the replicas, and keeps them over a restart of one. Returns a function that ends it. */
export function shareKeyBlocks({ link, clock, blocks }: SharedKeyBlocksOptions): () => void {
  return every(clock, everyMs, async () => {
    const texts = blocks.texts();
    if (link?.isUp() !== true) return;
    // The link finds out by itself whether the server is down.
    const reply = await link.run(keyBlocksScript, [link.key('key-blocks')], texts).catch(() => []);
    for (const text of replySchema.safeParse(reply).data ?? []) blocks.take(text);
  });
}
