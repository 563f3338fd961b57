import type { ValkeyLink } from './valkey-link.ts';
import { failureScript } from './valkey-scripts.ts';

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

/**
 * Counts failed authentications over all replicas, and lets each of them know whom to block. While the server is away, each
 * replica counts by itself. Gives what is to be told of each failure; nobody waits for it.
 */
export function shareBlocks({
  link,
  tolerated,
  windowMs,
  blockMs,
  block,
}: SharedBlocksOptions): (network: string) => void {
  link.subscribe(channel, (message) => {
    const [, forMs, network] = /^(\d{1,9}) (\S+)$/.exec(message) ?? [];
    if (network !== undefined) block(network, Number(forMs));
  });
  const args = [tolerated, windowMs, blockMs].map(String);
  return (network) => {
    if (!link.isUp()) return;
    // An address is what a header said: only the shape of one becomes part of a name.
    if (!/^[\da-f.:/]{1,64}$/i.test(network)) return;
    link.run(failureScript, [`weir:failed:${network}`], [network, ...args, channel]).catch(link.drop);
  };
}
