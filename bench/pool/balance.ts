import type { Engine } from './engine.ts';

/** How evenly the endpoints work, in windows of the measured time. */
export interface Balance {
  /** An endpoint has computed so many tokens of a prompt. */
  readonly computed: (now: number, endpoint: number, tokens: number) => void;
  /** Looks which of these endpoints have nothing to do. Call every `lookMs`. */
  readonly look: (now: number, present: readonly number[]) => void;
  /** The share of windows in which an endpoint did much more than the mean work while another was idle. */
  readonly unevenShare: () => number;
}

export const lookMs = 250;
const windowMs = 10_000;
/** So many times the mean work are too much. */
const mostOfMean = 1.25;
/** An endpoint that had nothing to do for more than this part of a window was idle. */
const idleShare = 0.5;

interface Window {
  readonly work: number[];
  readonly idleLooks: number[];
  looks: number;
  /** The sum of the endpoints that were there. */
  present: number;
}

/** `measured`: only windows that lie wholly inside count. */
export function createBalance(
  engines: readonly Pick<Engine, 'nextAt'>[],
  measured: { readonly fromMs: number; readonly toMs: number },
): Balance {
  const windows: Window[] = [];
  const count = Math.floor((measured.toMs - measured.fromMs) / windowMs);

  function at(now: number): Window | undefined {
    const index = Math.floor((now - measured.fromMs) / windowMs);
    if (index < 0 || index >= count) return undefined;
    windows[index] ??= { work: engines.map(() => 0), idleLooks: engines.map(() => 0), looks: 0, present: 0 };
    return windows[index];
  }

  return {
    computed: (now, endpoint, tokens) => {
      const { work } = at(now) ?? {};
      if (work !== undefined) work[endpoint] = (work[endpoint] ?? 0) + tokens;
    },
    look: (now, present) => {
      const window = at(now);
      if (window === undefined) return;
      window.looks += 1;
      window.present += present.length;
      for (const endpoint of present)
        if (engines[endpoint]?.nextAt() === Infinity)
          window.idleLooks[endpoint] = (window.idleLooks[endpoint] ?? 0) + 1;
    },
    unevenShare: () => {
      const uneven = windows.filter(({ work, idleLooks, looks, present }) => {
        const mean = work.reduce((sum, one) => sum + one, 0) / (present / Math.max(1, looks));
        return Math.max(...work) > mean * mostOfMean && Math.max(...idleLooks) > looks * idleShare;
      });
      return count === 0 ? 0 : uneven.length / count;
    },
  };
}
