import type { Chance } from '../../test/support/chance.ts';
import type { Load, PoolRequest, Session, SessionRequest } from './request.ts';

/** Makes requests whose blocks have numbers of their own. */
export interface TextMaker {
  /** A text that grows, after the blocks of another one. */
  readonly text: (after?: readonly number[]) => Text;
  readonly request: (
    text: Text,
    tokens: { readonly prompt: number; readonly output: number },
    conversation: number,
  ) => PoolRequest;
  readonly blockTokens: number;
}

export interface Text {
  /** Its first blocks, as many as these tokens fill. */
  readonly blocks: (tokens: number) => readonly number[];
}

export function createTextMaker(blockTokens: number): TextMaker {
  let nextBlock = 0;
  let nextId = 0;
  return {
    blockTokens,
    text: (after = []) => {
      const known = [...after];
      return {
        blocks: (tokens) => {
          const count = Math.floor(tokens / blockTokens);
          while (known.length < count) known.push(nextBlock++);
          return known.slice(0, count);
        },
      };
    },
    request: (text, { prompt, output }, conversation) => ({
      id: nextId++,
      blocks: text.blocks(prompt + output),
      promptBlocks: Math.floor(prompt / blockTokens),
      promptTokens: prompt,
      outputTokens: Math.max(1, output),
      conversation,
    }),
  };
}

/** Numbers of a distribution between bounds. */
export interface Spread {
  readonly mean: number;
  readonly least: number;
  readonly most: number;
}

/** A normal number inside the bounds. Its deviation is a quarter of the wider side, as far as the bounds allow. */
export function drawn(chance: Chance, { mean, least, most }: Spread): number {
  const normal = Math.sqrt(-2 * Math.log(1 - chance.next())) * Math.cos(2 * Math.PI * chance.next());
  return Math.round(Math.min(most, Math.max(least, mean + (normal * (most - least)) / 4)));
}

/** A number with a long tail: its logarithm is normal. */
export function longTailed(chance: Chance, { mean, least, most }: Spread, sigma = 0.8): number {
  const normal = Math.sqrt(-2 * Math.log(1 - chance.next())) * Math.cos(2 * Math.PI * chance.next());
  return Math.round(Math.min(most, Math.max(least, mean * Math.exp(sigma * normal - (sigma * sigma) / 2))));
}

export function exponential(chance: Chance, mean: number): number {
  return -mean * Math.log(1 - chance.next());
}

/** Times at which so many sessions begin, at random with this rate. */
export function poisson(chance: Chance, perSecond: number, count: number): readonly number[] {
  let at = 0;
  return Array.from({ length: count }, () => (at += exponential(chance, 1000 / perSecond)));
}

export const alone = (request: PoolRequest): Session => ({
  requests: [{ request, atMs: 0, after: undefined, pauseMs: 0 }],
});

/** A load whose sessions begin at these times. The requests of the first of so many `parts` of the time are not measured. */
export function openLoad({
  sessions,
  startMs,
  blockTokens,
  parts,
}: Pick<Load, 'sessions' | 'blockTokens'> & { readonly startMs: readonly number[]; readonly parts: number }): Load {
  const last = Math.max(0, ...startMs);
  return {
    sessions,
    arrivals: { kind: 'open', startMs },
    blockTokens,
    measured: { fromMs: last / parts, toMs: last },
  };
}

export interface ChatOptions {
  readonly system: number;
  /** The blocks that the system prompt shares with other conversations. */
  readonly shared: readonly number[];
  readonly turns: number;
  readonly asked: () => number;
  readonly answered: () => number;
  readonly pauseMs: () => number;
  readonly conversation: number;
}

/** A conversation: each turn has all earlier ones before it. */
export function chat(maker: TextMaker, options: ChatOptions): Session {
  const text = maker.text(options.shared);
  let tokens = options.system;
  const requests = Array.from({ length: options.turns }, (_, turn): SessionRequest => {
    const prompt = tokens + options.asked();
    const output = options.answered();
    tokens = prompt + output;
    const request = maker.request(text, { prompt, output }, options.conversation);
    const pauseMs = turn === 0 ? 0 : options.pauseMs();
    return { request, atMs: 0, after: turn === 0 ? undefined : turn - 1, pauseMs };
  });
  return { requests };
}
