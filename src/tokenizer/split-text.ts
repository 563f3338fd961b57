import type { Behaviour } from './tokenizer-file.ts';

interface Span {
  start: number;
  end: number;
  readonly match: boolean;
}

function* spansOf(text: string, pattern: RegExp, inverted: boolean): Generator<Span> {
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    const end = found.index + found[0].length;
    if (found.index > last) yield { start: last, end: found.index, match: inverted };
    if (end > found.index) yield { start: found.index, end, match: !inverted };
    last = end;
  }
  if (last < text.length) yield { start: last, end: text.length, match: inverted };
}

/** Whether a span joins the one before it, which ends where it starts. */
function joins(behaviour: Behaviour, before: Span, span: Span): boolean {
  switch (behaviour) {
    case 'Isolated':
    case 'Removed':
      return false;
    case 'Contiguous':
      return before.match === span.match;
    case 'MergedWithPrevious':
      return span.match && !before.match;
    case 'MergedWithNext':
      return before.match && !span.match;
  }
}

export interface SplitOptions {
  readonly pattern: RegExp;
  readonly behaviour: Behaviour;
  /** Treats what lies between the matches as the matches. */
  readonly inverted?: boolean;
}

/**
 * Cuts a text at a pattern, lazily and from left to right, as Rust's `NormalizedString::split` does. Pieces are never
 * empty.
 */
export function* splitText(text: string, { pattern, behaviour, inverted = false }: SplitOptions): Generator<string> {
  let open: Span | undefined;
  let joined = false;
  for (const span of spansOf(text, pattern, inverted)) {
    if (behaviour === 'Removed' && span.match) continue;
    // A piece takes at most one match, whatever follows; only equal ones may run on.
    if (open !== undefined && joins(behaviour, open, span) && (behaviour === 'Contiguous' || !joined)) {
      open.end = span.end;
      joined = true;
      continue;
    }
    if (open !== undefined) yield text.slice(open.start, open.end);
    open = span;
    joined = false;
  }
  if (open !== undefined) yield text.slice(open.start, open.end);
}
