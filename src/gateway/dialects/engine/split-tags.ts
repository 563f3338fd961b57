import type { InlineReasoning } from '../../../core/capability.ts';

/** A piece of an answer's text, sorted into reasoning or text. */
export interface SortedText {
  readonly type: 'text-delta' | 'reasoning-delta';
  readonly text: string;
  /** Number of the engine's deltas in the piece. */
  readonly deltas: number;
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

interface SplitState {
  readonly opens: readonly string[];
  readonly plains: readonly string[];
  readonly closes: readonly string[];
  /** Tags that end reasoning, or a part of it. */
  readonly marks: readonly string[];
  /** The phase of text without tags. A continued answer is text, whatever the prompt ended in. */
  readonly untagged: 'reasoning' | 'text';
  phase: Phase;
  held: string;
  heldDeltas: number;
  /** After a tag, white space is dropped until other text comes. */
  afterTag: boolean;
  sorted: SortedText[];
}

/**
 * Sorts text with tags into reasoning and answer: a synchronous machine. Text that may be the beginning of a tag is held back until
 * this is certain.
 * Tags count only where models put them: an opening tag at the very beginning, then one closing tag. A tag in later text is text.
 * White space is treated as in the parsers of Ollama and llama.cpp (thinking/parser.go, common/chat): removed after a tag and before a
 * closing one, while an answer without tags keeps all of it. vLLM and SGLang keep a line feed on either side, by which a caller could
 * distinguish the engines.
 */
export function createTagSplitter(
  { tags, implicitOpen }: InlineReasoning,
  options: { readonly answerBegun?: boolean | undefined } = {},
) {
  const closes = tags.flatMap((set) => set.close);
  const untagged = implicitOpen && options.answerBegun !== true ? 'reasoning' : 'text';
  const state: SplitState = {
    opens: tags.flatMap((set) => set.open),
    plains: tags.flatMap((set) => set.plain ?? []),
    closes,
    marks: [...closes, ...tags.flatMap((set) => set.between ?? [])],
    untagged,
    phase: 'start',
    held: '',
    heldDeltas: 0,
    afterTag: untagged === 'reasoning',
    sorted: [],
  };
  return {
    /** Call it when the text ends or another event interrupts it. Returns the text that was held back. */
    flush: (): readonly SortedText[] => flush(state),
    push: (text: string, deltas: number): readonly SortedText[] => {
      // The common case: once the answer has begun, everything is text.
      if (state.phase === 'text' && !state.afterTag) return text === '' ? [] : [{ type: 'text-delta', text, deltas }];
      state.held += text;
      state.heldDeltas += deltas;
      sort(state);
      return take(state);
    },
    /**
     * Call it when the engine reports its reasoning in a field after all. Returns the text that was held back. All later text is
     * answer.
     */
    stop: (): readonly SortedText[] => {
      const rest = flush(state);
      state.phase = 'text';
      state.afterTag = false;
      return rest;
    },
  };
}

function append(state: SplitState, type: SortedText['type'], text: string): void {
  if (text === '') return;
  state.sorted.push({ type, text, deltas: state.heldDeltas });
  state.heldDeltas = 0;
}

function enter(state: SplitState, next: Phase, rest: string): void {
  state.phase = next;
  state.afterTag = true;
  state.held = rest;
}

/** Each step sorts a part of the held text and returns whether another step may follow. */
const steps: Readonly<Record<Phase, (state: SplitState) => boolean>> = {
  start: (state) => {
    const text = state.held.trimStart();
    if (state.held.length - text.length > maxLeadingSpace) {
      state.phase = state.untagged;
      return true;
    }
    const open = state.opens.find((tag) => text.startsWith(tag));
    const plain = state.plains.find((tag) => text.startsWith(tag));
    if (open !== undefined) enter(state, 'reasoning', text.slice(open.length));
    else if (plain !== undefined) enter(state, 'text', text.slice(plain.length));
    else if ([...state.opens, ...state.plains].some((tag) => tag.startsWith(text))) return false;
    else state.phase = state.untagged;
    return true;
  },
  reasoning: (state) => {
    const mark = firstOf(state.marks, state.held);
    if (mark !== undefined) {
      append(state, 'reasoning-delta', state.held.slice(0, beforeSpace(state.held, mark.from)));
      const closed = state.closes.includes(state.held.slice(mark.from, mark.to));
      // Two parts of reasoning stay two paragraphs.
      if (!closed) append(state, 'reasoning-delta', '\n\n');
      enter(state, closed ? 'text' : 'reasoning', state.held.slice(mark.to));
      return true;
    }
    const end = beforeSpace(state.held, cutTag(state.marks, state.held));
    append(state, 'reasoning-delta', state.held.slice(0, end));
    state.held = state.held.slice(end);
    return false;
  },
  text: (state) => {
    append(state, 'text-delta', state.held);
    state.held = '';
    return false;
  },
};

function sort(state: SplitState): void {
  for (let more = true; more;) {
    if (state.afterTag && state.phase !== 'start') state.held = state.held.trimStart();
    if (state.held === '') return;
    if (state.phase !== 'start') state.afterTag = false;
    more = steps[state.phase](state);
  }
}

function take(state: SplitState): readonly SortedText[] {
  const taken = state.sorted;
  state.sorted = [];
  return taken;
}

function flush(state: SplitState): readonly SortedText[] {
  if (state.phase === 'start' && state.held.trim() !== '') state.phase = state.untagged;
  append(
    state,
    state.phase === 'reasoning' ? 'reasoning-delta' : 'text-delta',
    state.afterTag ? state.held.trimStart() : state.held,
  );
  state.held = '';
  return take(state);
}
