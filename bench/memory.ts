import { expectedOf } from './chat-request.ts';
import { holdStreams } from './held-streams.ts';
import type { MemoryUse } from './process-usage.ts';
import { held } from './scenarios.ts';
import { memoryOfTarget, type Shares, type Target, type TargetName } from './target.ts';

/** Memory of a target's processes, proportional set size, in bytes. */
export interface MemoryFigures {
  readonly target: TargetName;
  readonly idle: Shares<MemoryUse>;
  readonly withStreams: Shares<MemoryUse>;
  readonly streams: number;
  /** Growth of the proportional set size from a tenth of the streams to all of them, divided by their number. */
  readonly bytesPerStream: Shares<number>;
  /** Streams that ended while they should have been open; the figure is wrong when there are any. */
  readonly lost: number;
}

const settleMs = 2_000;
const openTimeoutMs = 30_000;

/**
 * Opens slow streams in two steps and takes the slope between them: the first step pays for what is loaded and compiled
 * once. Garbage not yet collected is part of the figure, as it is part of what a machine must have.
 */
export async function measureMemory(target: Target, streams: number): Promise<MemoryFigures> {
  const idle = await memoryOfTarget(target);
  const hold = (count: number) =>
    holdStreams({
      address: target.address,
      request: target.request(held, true),
      expected: expectedOf(held, true),
      count,
      spacingMs: 3,
      timeoutMs: openTimeoutMs,
    });
  const firstCount = Math.ceil(streams / 10);
  const first = await hold(firstCount);
  try {
    await settle();
    const few = await memoryOfTarget(target);
    const others = await hold(streams - firstCount);
    try {
      await settle();
      const withStreams = await memoryOfTarget(target);
      const slope = (share: 'service' | 'envoy'): number | undefined => {
        const [from, to] = [few[share], withStreams[share]];
        return from === undefined || to === undefined
          ? undefined
          : (to.pssBytes - from.pssBytes) / (streams - firstCount);
      };
      return {
        target: target.name,
        idle,
        withStreams,
        streams,
        bytesPerStream: { service: slope('service'), envoy: slope('envoy') },
        lost: first.lost() + others.lost(),
      };
    } finally {
      others.close();
    }
  } finally {
    first.close();
  }
}

/** What is measured is a system at rest, and rest is time passing: there is no event to wait for. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, settleMs));
}
