import { createCaller, type Address } from './caller.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Expectation } from './verify-answer.ts';

export interface HeldStreams {
  /** Streams whose first byte came. */
  readonly opened: () => number;
  /** Streams that ended, or were refused, while they should have been open. */
  readonly lost: () => number;
  readonly close: () => void;
}

interface HoldOptions {
  readonly address: Address;
  readonly request: ChatRequest;
  readonly expected: Expectation;
  readonly count: number;
  /** Between one opening and the next, so that opening is not itself the load. */
  readonly spacingMs: number;
  readonly timeoutMs: number;
}

/** Opens slow streams and keeps them open. Resolves when each has its first byte or is lost; throws when that takes too long. */
export function holdStreams(options: HoldOptions): Promise<HeldStreams> {
  const { address, request, expected, count, spacingMs, timeoutMs } = options;
  let opened = 0;
  let lost = 0;
  return new Promise((resolve, reject) => {
    const settleWhenAll = (): void => {
      if (opened + lost < count) return;
      clearTimeout(limit);
      resolve(held);
    };
    const callers = Array.from({ length: count }, () => {
      let started = false;
      return createCaller({
        address,
        request,
        expected,
        onBody: () => {
          if (started) return;
          started = true;
          opened += 1;
          settleWhenAll();
        },
        onAnswer: () => {
          if (started) opened -= 1;
          lost += 1;
          settleWhenAll();
        },
      });
    });
    const starts = callers.map((caller, index) => setTimeout(() => caller.send(), index * spacingMs));
    const held: HeldStreams = {
      opened: () => opened,
      lost: () => lost,
      close: () => {
        for (const start of starts) clearTimeout(start);
        for (const caller of callers) caller.close();
      },
    };
    const limit = setTimeout(() => {
      held.close();
      reject(new Error(`only ${opened} of ${count} streams opened in ${timeoutMs} ms`));
    }, timeoutMs);
  });
}
