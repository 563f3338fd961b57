import { z } from 'zod';
import { type Clock, every } from '../../core/clock.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { keyBlocksScript } from './valkey-scripts.ts';

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
