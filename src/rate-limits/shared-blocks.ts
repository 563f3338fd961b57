import type { ValkeyLink } from './valkey-link.ts';
import { blockedScript, failureScript } from './valkey-scripts.ts';

export interface SharedBlocksOptions {
  readonly link: ValkeyLink;
  /** More failures of a network than this within the window, over all replicas, block it. */
  readonly tolerated: number;
  readonly windowMs: number;
  readonly blockMs: number;
  /** Some replica has found that a network is to be blocked. */
  readonly block: (network: string, forMs: number) => void;
}

const channel = 'weir:blocked';
const blockedKey = 'weir:blocked-until';
/** More blocks than a gate remembers need not be read. */
const mostRead = 100_000;

/**
 * Counts failed authentications over all replicas, and lets each of them know whom to block; one that has just come, or come
 * back, asks who is. While the server is away, each replica counts by itself. Gives what is to be told of each failure;
 * nobody waits for it.
 */
export function shareBlocks({
  link,
  tolerated,
  windowMs,
  blockMs,
  block,
}: SharedBlocksOptions): (network: string) => void {
  const take = (message: unknown): void => {
    const [, forMs, network] = /^(\d{1,9}) (\S+)$/.exec(String(message)) ?? [];
    if (network !== undefined) block(network, Number(forMs));
  };
  const catchUp = async (): Promise<void> => {
    const blocked = await link.run(blockedScript, [blockedKey], [String(mostRead)]);
    if (Array.isArray(blocked)) blocked.forEach(take);
  };
  link.subscribe(channel, {
    take,
    // What cannot be read now is asked for again with the next connection.
    listening: () => void catchUp().catch(() => undefined),
  });
  const args = [tolerated, windowMs, blockMs].map(String);
  return (network) => {
    if (!link.isUp()) return;
    // An address is what a header said: only the shape of one becomes part of a name.
    if (!/^[\da-f.:/]{1,64}$/i.test(network)) return;
    link.run(failureScript, [`weir:failed:${network}`, blockedKey], [network, ...args, channel]).catch(link.drop);
  };
}
