import { tokenEnd } from './tokens.ts';

/** The logprobs of a piece of text, token by token; the figures follow from the text alone. */
export function logprobsOf(text: string, top: number): readonly unknown[] {
  const entries: unknown[] = [];
  for (let at = 0; at < text.length;) {
    const end = tokenEnd(text, at);
    entries.push(entry(text.slice(at, end), top));
    at = end;
  }
  return entries;
}

function entry(token: string, top: number): unknown {
  const alternatives = Array.from({ length: top }, (_, rank) =>
    one(rank === 0 ? token : `${token}${rank}`, logprobOf(token) - rank),
  );
  return { ...one(token, logprobOf(token)), top_logprobs: alternatives };
}

const one = (token: string, logprob: number): object => ({ token, logprob, bytes: [...Buffer.from(token)] });

const logprobOf = (token: string): number => -((token.charCodeAt(0) + 7 * token.length) % 97) / 128;
