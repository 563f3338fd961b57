import { createCaller, type Address } from './caller.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Expectation } from './verify-answer.ts';

export interface HeldStreams {
  /** Streams that have ended while they should have been open. */
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

/**
 * Opens slow streams and keeps them open. Resolves when each has its first byte. Rejects when one of them ends or is
 * refused before that, and when it takes too long.
 */
export function holdStreams(options: HoldOptions): Promise<HeldStreams> {
  const { address, request, expected, count, spacingMs, timeoutMs } = options;
  let opened = 0;
  let lost = 0;
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(limit);
      held.close();
      reject(new Error(`only ${opened} of ${count} streams opened: ${why}`));
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
          if (opened < count) return;
          clearTimeout(limit);
          resolve(held);
        },
        onAnswer: ({ failure }) => {
          if (opened < count) fail(failure ?? 'one has ended');
          else lost += 1;
        },
      });
    });
    const starts = callers.map((caller, index) => setTimeout(() => caller.send(), index * spacingMs));
    const held: HeldStreams = {
      lost: () => lost,
      close: () => {
        for (const start of starts) clearTimeout(start);
        for (const caller of callers) caller.close();
      },
    };
    const limit = setTimeout(() => fail(`more than ${timeoutMs} ms have passed`), timeoutMs);
  });
}
