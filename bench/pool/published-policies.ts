import type { CreatePolicy } from './run.ts';

/** Which endpoint has had which blocks: what a gateway can know without the engines. */
function createSeenBlocks(endpoints: number, maxBlocks: number) {
  const seen = Array.from({ length: endpoints }, () => new Set<number>());
  return {
    matched: (endpoint: number, blocks: readonly number[], length: number): number => {
      const own = seen[endpoint];
      let count = 0;
      while (count < length && own?.has(blocks[count] ?? -1) === true) count += 1;
      return count;
    },
    add: (endpoint: number, blocks: readonly number[], length: number): void => {
      const own = seen[endpoint];
      if (own === undefined) return;
      for (let at = length - 1; at >= 0; at -= 1) {
        const block = blocks[at] ?? -1;
        own.delete(block);
        own.add(block);
      }
      for (const block of own) {
        if (own.size <= maxBlocks) return;
        own.delete(block);
      }
    },
    size: (endpoint: number): number => seen[endpoint]?.size ?? 0,
  };
}

/** SGLang's router: `--cache-threshold`, `--balance-abs-threshold` and `--balance-rel-threshold` at their defaults. */
const sglang = { cacheThreshold: 0.3, absolute: 64, relative: 1.5, mostTreeBlocks: 2 ** 18 };

/**
 * `cache_aware` of SGLang's router: the endpoint with the longest match if that is long enough, else the one with the
 * smallest tree; the one with the fewest requests while these are out of balance.
 */
export const cacheAware: CreatePolicy = ({ endpoints }) => {
  const seen = createSeenBlocks(endpoints, sglang.mostTreeBlocks);
  const underWay = Array.from({ length: endpoints }, () => 0);
  const load = (endpoint: number): number => underWay[endpoint] ?? 0;
  const least = (present: readonly number[], of: (endpoint: number) => number): number =>
    present.reduce((best, endpoint) => (of(endpoint) < of(best) ? endpoint : best), present[0] ?? 0);
  return {
    pick: (request, present) => {
      const { blocks, promptBlocks } = request;
      const loads = present.map(load);
      const [most, fewest] = [Math.max(...loads), Math.min(...loads)];
      const isOutOfBalance = most - fewest > sglang.absolute && most > fewest * sglang.relative;
      const match = (endpoint: number): number => seen.matched(endpoint, blocks, promptBlocks);
      const longest = least(present, (endpoint) => -match(endpoint));
      const chosen = isOutOfBalance
        ? least(present, load)
        : match(longest) > sglang.cacheThreshold * Math.max(1, promptBlocks)
          ? longest
          : least(present, seen.size);
      seen.add(chosen, blocks, promptBlocks);
      underWay[chosen] = load(chosen) + 1;
      return chosen;
    },
    first: () => undefined,
    ended: (_, endpoint) => {
      underWay[endpoint] = load(endpoint) - 1;
    },
  };
};

export interface StickyOptions {
  /** Tokens that are not computed yet by which a holder may be ahead of another endpoint: the constant to be measured. */
  readonly gapTokens: number;
  /** What the router thinks that an endpoint can hold. */
  readonly memoryTokens: number;
}

/** llm-d's default since August 2026: endpoints that hold most of the prompt, until they are that far behind; of them, the one with the least load. */
export const stickyUntilSaturated =
  ({ gapTokens, memoryTokens }: StickyOptions): CreatePolicy =>
  ({ endpoints, blockTokens, chance }) => {
    const affinityThreshold = 0.8;
    const seen = createSeenBlocks(endpoints, Math.floor(memoryTokens / blockTokens));
    const ahead = Array.from({ length: endpoints }, () => 0);
    const counted = new Map<number, number>();
    const add = (endpoint: number, change: number): void => {
      ahead[endpoint] = (ahead[endpoint] ?? 0) + change;
    };
    const answered = (id: number, endpoint: number): void => {
      add(endpoint, -(counted.get(id) ?? 0));
      counted.delete(id);
    };
    return {
      pick: (request, present) => {
        const { blocks, promptBlocks, promptTokens } = request;
        const matched = new Map(present.map((endpoint) => [endpoint, seen.matched(endpoint, blocks, promptBlocks)]));
        const left = (endpoint: number): number => promptTokens - (matched.get(endpoint) ?? 0) * blockTokens;
        const queue = (endpoint: number): number => ahead[endpoint] ?? 0;
        const sticky = present.filter((endpoint) => left(endpoint) <= (1 - affinityThreshold) * promptTokens);
        const others = present.filter((endpoint) => !sticky.includes(endpoint));
        const isBroken =
          sticky.length > 0 &&
          others.length > 0 &&
          Math.min(...sticky.map(queue)) - Math.min(...others.map(queue)) > gapTokens;
        const from = sticky.length === 0 || isBroken ? present : sticky;
        const cost = (endpoint: number): number => queue(endpoint) + left(endpoint);
        const least = Math.min(...from.map(cost));
        const chosen = chance.pick(from.filter((endpoint) => cost(endpoint) <= least));
        counted.set(request.id, left(chosen));
        add(chosen, left(chosen));
        seen.add(chosen, blocks, promptBlocks);
        return chosen;
      },
      first: ({ id }, endpoint) => answered(id, endpoint),
      ended: ({ id }, endpoint) => answered(id, endpoint),
    };
  };
