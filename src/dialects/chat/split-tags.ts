import type { InlineReasoning } from '../../core/capability.ts';

/** A stretch of an answer's text, sorted. */
export interface SortedText {
  readonly type: 'text-delta' | 'reasoning-delta';
  readonly text: string;
  /** The engine's own deltas in it. */
  readonly deltas: number;
}

/**
 * Sorts text with tags into reasoning and answer. A synchronous machine: what may be the beginning of a tag is held back
 * until that is certain.
 */
export interface TagSplitter {
  readonly push: (text: string, deltas: number) => readonly SortedText[];
  /** No further text comes, or something else comes first: gives what was held back. */
  readonly flush: () => readonly SortedText[];
  /** The engine reports its reasoning in a field after all: gives what was held back, and from now on text is text. */
  readonly stop: () => readonly SortedText[];
}

type Phase = 'start' | 'reasoning' | 'text';

/** Most white space that is taken off the end of reasoning, characters. */
const maxTrailingSpace = 8;

/** Most white space we wait through for a tag at the beginning of an answer, characters. */
const maxLeadingSpace = 64;

interface Found {
  readonly from: number;
  readonly to: number;
}

function firstOf(tags: readonly string[], text: string): Found | undefined {
  let found: Found | undefined;
  for (const tag of tags) {
    const from = text.indexOf(tag);
    if (from !== -1 && (found === undefined || from < found.from)) found = { from, to: from + tag.length };
  }
  return found;
}

/** Where a tag may have begun that the text's end cuts off; the text's length when none has. */
function cutTag(tags: readonly string[], text: string): number {
  let at = text.length;
  for (const tag of tags) {
    for (let length = Math.min(tag.length - 1, text.length); length > text.length - at; length -= 1) {
      if (text.endsWith(tag.slice(0, length))) at = text.length - length;
    }
  }
  return at;
}

/** Goes back over the white space before a place, but not far. */
function beforeSpace(text: string, place: number): number {
  let at = place;
  while (at > 0 && place - at < maxTrailingSpace && /\s/.test(text.charAt(at - 1))) at -= 1;
  return at;
}

/**
 * Tags count only where models put them: the opening one first of all, the closing one after it, once. A tag in later text
 * stays text. White space is treated as Ollama's and llama.cpp's own parsers do (thinking/parser.go, common/chat): none is
 * left after a tag and before a closing one; but an answer without tags keeps all of it. vLLM and SGLang keep a line feed on
 * either side; a caller could tell the engines apart by it.
 */
export function createTagSplitter(
  { tags, implicitOpen }: InlineReasoning,
  options: { readonly answerBegun?: boolean } = {},
): TagSplitter {
  const opens = tags.flatMap((set) => set.open);
  const plains = tags.flatMap((set) => set.plain ?? []);
  const closes = tags.flatMap((set) => set.close);
  const marks = [...closes, ...tags.flatMap((set) => set.between ?? [])];
  /** What text is when no tag tells: an answer that has begun goes on as such, whatever the prompt ended in. */
  const untagged: Phase = implicitOpen && options.answerBegun !== true ? 'reasoning' : 'text';
  let phase: Phase = 'start';
  let held = '';
  let heldDeltas = 0;
  /** White space is dropped until something else comes. */
  let afterTag = untagged === 'reasoning';
  let sorted: SortedText[] = [];

  function give(type: SortedText['type'], text: string): void {
    if (text === '') return;
    sorted.push({ type, text, deltas: heldDeltas });
    heldDeltas = 0;
  }

  function enter(next: Phase, rest: string): void {
    phase = next;
    afterTag = true;
    held = rest;
  }

  /** Each step sorts part of what is held, and tells whether there may be more to do. */
  const steps: Readonly<Record<Phase, () => boolean>> = {
    start: () => {
      const text = held.trimStart();
      if (held.length - text.length > maxLeadingSpace) {
        phase = untagged;
        return true;
      }
      const open = opens.find((tag) => text.startsWith(tag));
      const plain = plains.find((tag) => text.startsWith(tag));
      if (open !== undefined) enter('reasoning', text.slice(open.length));
      else if (plain !== undefined) enter('text', text.slice(plain.length));
      else if ([...opens, ...plains].some((tag) => tag.startsWith(text))) return false;
      else phase = untagged;
      return true;
    },
    reasoning: () => {
      const mark = firstOf(marks, held);
      if (mark !== undefined) {
        give('reasoning-delta', held.slice(0, beforeSpace(held, mark.from)));
        const closed = closes.includes(held.slice(mark.from, mark.to));
        // Two stretches of reasoning stay two paragraphs.
        if (!closed) give('reasoning-delta', '\n\n');
        enter(closed ? 'text' : 'reasoning', held.slice(mark.to));
        return true;
      }
      const end = beforeSpace(held, cutTag(marks, held));
      give('reasoning-delta', held.slice(0, end));
      held = held.slice(end);
      return false;
    },
    text: () => {
      give('text-delta', held);
      held = '';
      return false;
    },
  };

  function sort(): void {
    for (let more = true; more;) {
      if (afterTag && phase !== 'start') held = held.trimStart();
      if (held === '') return;
      if (phase !== 'start') afterTag = false;
      more = steps[phase]();
    }
  }

  function take(): readonly SortedText[] {
    const taken = sorted;
    sorted = [];
    return taken;
  }

  function flush(): readonly SortedText[] {
    if (phase === 'start' && held.trim() !== '') phase = untagged;
    give(phase === 'reasoning' ? 'reasoning-delta' : 'text-delta', afterTag ? held.trimStart() : held);
    held = '';
    return take();
  }

  return {
    flush,
    push: (text, deltas) => {
      // Nothing but text can come: the common case once the answer has begun.
      if (phase === 'text' && !afterTag) return text === '' ? [] : [{ type: 'text-delta', text, deltas }];
      held += text;
      heldDeltas += deltas;
      sort();
      return take();
    },
    stop: () => {
      const rest = flush();
      phase = 'text';
      afterTag = false;
      return rest;
    },
  };
}
