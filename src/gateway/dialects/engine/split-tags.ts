import type { InlineReasoning } from '../../../core/capability.ts';

/** A piece of an answer's text, sorted into reasoning or text. */
export interface SortedText {
  readonly type: 'text-delta' | 'reasoning-delta';
  readonly text: string;
  /** Number of the engine's deltas in the piece. */
  readonly deltas: number;
}

/**
 * Sorts text with tags into reasoning and answer: a synchronous machine. Text that may be the beginning of a tag is held back until
 * this is certain.
 */
interface TagSplitter {
  readonly push: (text: string, deltas: number) => readonly SortedText[];
  /** Call it when the text ends or another event interrupts it. Returns the text that was held back. */
  readonly flush: () => readonly SortedText[];
  /**
   * Call it when the engine reports its reasoning in a field after all. Returns the text that was held back. All later text is
   * answer.
   */
  readonly stop: () => readonly SortedText[];
}

type Phase = 'start' | 'reasoning' | 'text';

/** Most characters of white space that are removed from the end of reasoning. */
const maxTrailingSpace = 8;

/** Most characters of white space before a tag at the beginning of an answer. */
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

/** Returns where a tag begins that the end of the text may have cut off. Without such a tag, returns the text's length. */
function cutTag(tags: readonly string[], text: string): number {
  let at = text.length;
  for (const tag of tags) {
    for (let length = Math.min(tag.length - 1, text.length); length > text.length - at; length -= 1) {
      if (text.endsWith(tag.slice(0, length))) at = text.length - length;
    }
  }
  return at;
}

/** Where the white space before an index begins, at most `maxTrailingSpace` characters before it. */
function beforeSpace(text: string, place: number): number {
  let at = place;
  while (at > 0 && place - at < maxTrailingSpace && /\s/.test(text.charAt(at - 1))) at -= 1;
  return at;
}

/**
 * Tags count only where models put them: an opening tag at the very beginning, then one closing tag. A tag in later text is text.
 * White space is treated as in the parsers of Ollama and llama.cpp (thinking/parser.go, common/chat): removed after a tag and before a
 * closing one, while an answer without tags keeps all of it. vLLM and SGLang keep a line feed on either side, by which a caller could
 * distinguish the engines.
 */
export function createTagSplitter(
  { tags, implicitOpen }: InlineReasoning,
  options: { readonly answerBegun?: boolean | undefined } = {},
): TagSplitter {
  const opens = tags.flatMap((set) => set.open);
  const plains = tags.flatMap((set) => set.plain ?? []);
  const closes = tags.flatMap((set) => set.close);
  const marks = [...closes, ...tags.flatMap((set) => set.between ?? [])];
  /** The phase of text without tags. A continued answer is text, whatever the prompt ended in. */
  const untagged: Phase = implicitOpen && options.answerBegun !== true ? 'reasoning' : 'text';
  let phase: Phase = 'start';
  let held = '';
  let heldDeltas = 0;
  /** After a tag, white space is dropped until other text comes. */
  let afterTag = untagged === 'reasoning';
  let sorted: SortedText[] = [];

  function append(type: SortedText['type'], text: string): void {
    if (text === '') return;
    sorted.push({ type, text, deltas: heldDeltas });
    heldDeltas = 0;
  }

  function enter(next: Phase, rest: string): void {
    phase = next;
    afterTag = true;
    held = rest;
  }

  /** Each step sorts a part of the held text and returns whether another step may follow. */
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
        append('reasoning-delta', held.slice(0, beforeSpace(held, mark.from)));
        const closed = closes.includes(held.slice(mark.from, mark.to));
        // Two parts of reasoning stay two paragraphs.
        if (!closed) append('reasoning-delta', '\n\n');
        enter(closed ? 'text' : 'reasoning', held.slice(mark.to));
        return true;
      }
      const end = beforeSpace(held, cutTag(marks, held));
      append('reasoning-delta', held.slice(0, end));
      held = held.slice(end);
      return false;
    },
    text: () => {
      append('text-delta', held);
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
    append(phase === 'reasoning' ? 'reasoning-delta' : 'text-delta', afterTag ? held.trimStart() : held);
    held = '';
    return take();
  }

  return {
    flush,
    push: (text, deltas) => {
      // The common case: once the answer has begun, everything is text.
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
