import type { Behaviour } from './behaviour.ts';
import { parsedOr } from './json-value.ts';
import type { ToolCall } from './tool-calls.ts';
import type { Fragment, FragmentChunk } from './tool-fragments.ts';

type ToolQuirk = NonNullable<Behaviour['toolQuirk']>[number];

/**
 * Bends the chunks of all calls as some real engine does. Quirks that only change how the answer ends leave the
 * chunks alone: `finish-stop`, `finish-null`, `finish-with-last`, `rest-in-finish` and `empty-content-first` are the stream's to do.
 */
export function bendFragments(
  chunks: readonly FragmentChunk[],
  calls: readonly ToolCall[],
  quirk: ToolQuirk,
): readonly FragmentChunk[] {
  switch (quirk) {
    case 'index-missing':
      return eachFragment(chunks, ({ index: _, ...rest }) => rest);
    case 'index-all-zero':
      return eachFragment(chunks, (fragment) => ({ ...fragment, index: 0 }));
    case 'index-from-one':
      return eachFragment(chunks, (fragment) => ({ ...fragment, index: (fragment.index ?? 0) + 1 }));
    case 'index-jumps':
      return eachFragment(chunks, (fragment) => ({ ...fragment, index: (fragment.index ?? 0) * 3 + 2 }));
    case 'index-restarts':
      // Gemini: every chunk holds whole calls and counts its own from nought.
      return wholeCalls(chunks, calls).map((chunk) => ({
        ...chunk,
        fragments: chunk.fragments.map((fragment, index) => ({ ...fragment, index })),
      }));
    case 'whole-call':
      return wholeCalls(chunks, calls);
    case 'calls-in-one-chunk':
      return merged(wholeCalls(chunks, calls));
    case 'arguments-object':
      // Arguments that are no JSON cannot be sent as an object and stay a string.
      return eachFragment(wholeCalls(chunks, calls), (fragment) =>
        withArguments(fragment, parsedOr(argumentsOf(fragment))),
      );
    case 'arguments-null-first':
      return eachChunk(chunks, (chunk) => (chunk.head ? mapped(chunk, (one) => withArguments(one, null)) : chunk));
    case 'arguments-empty-then-whole':
      return twoPieces(chunks, calls);
    case 'id-missing':
      return eachFragment(chunks, ({ id: _, ...rest }) => rest);
    case 'id-late':
      return idLate(chunks);
    case 'id-empty-on-continuation':
      return continuations(chunks, (fragment) => ({ ...fragment, id: '', type: 'function' }));
    case 'head-repeated':
      return continuations(
        chunks,
        (fragment, call) => ({
          ...fragment,
          id: call.id,
          type: 'function',
          function: { name: call.name, ...fragment.function },
        }),
        calls,
      );
    case 'name-split':
      return nameSplit(chunks, calls);
    case 'name-late':
      return nameLate(chunks);
    case 'name-null-on-continuation':
      return continuations(chunks, (fragment) => ({ ...fragment, function: { name: null, ...fragment.function } }));
    case 'type-missing':
      return eachFragment(chunks, ({ type: _, ...rest }) => rest);
    case 'ids-duplicate':
      return eachFragment(chunks, (one) => (one.id === undefined ? one : { ...one, id: calls[0]?.id ?? one.id }));
    case 'interleaved':
      return interleaved(chunks, calls.length);
    case 'trailing-empty':
      return calls.flatMap((_, call) => [
        ...chunks.filter((chunk) => chunk.call === call),
        { fragments: [{ index: call, function: { arguments: '' } }], call, head: false, tokens: 0 },
      ]);
    case 'empty-content-first':
    case 'finish-stop':
    case 'finish-null':
    case 'finish-with-last':
    case 'rest-in-finish':
      return chunks;
  }
}

const eachChunk = (
  chunks: readonly FragmentChunk[],
  change: (chunk: FragmentChunk) => FragmentChunk,
): readonly FragmentChunk[] => chunks.map(change);

const mapped = (chunk: FragmentChunk, change: (fragment: Fragment) => Fragment): FragmentChunk => ({
  ...chunk,
  fragments: chunk.fragments.map(change),
});

const eachFragment = (
  chunks: readonly FragmentChunk[],
  change: (fragment: Fragment) => Fragment,
): readonly FragmentChunk[] => eachChunk(chunks, (chunk) => mapped(chunk, change));

function continuations(
  chunks: readonly FragmentChunk[],
  change: (fragment: Fragment, call: ToolCall) => Fragment,
  calls: readonly ToolCall[] = [],
): readonly FragmentChunk[] {
  const nobody: ToolCall = { id: '', name: '', arguments: '' };
  return eachChunk(chunks, (chunk) =>
    chunk.head ? chunk : mapped(chunk, (one) => change(one, calls[chunk.call] ?? nobody)),
  );
}

const withArguments = (fragment: Fragment, value: unknown): Fragment => ({
  ...fragment,
  function: { ...fragment.function, arguments: value },
});

const argumentsOf = (fragment: Fragment): string =>
  typeof fragment.function?.arguments === 'string' ? fragment.function.arguments : '';

/** All chunks of a call in one. Earlier quirks of head and pieces are kept: the head's fields win. */
function wholeCalls(chunks: readonly FragmentChunk[], calls: readonly ToolCall[]): readonly FragmentChunk[] {
  return calls.flatMap((call, index) => {
    const own = chunks.filter((chunk) => chunk.call === index);
    const [first] = own;
    if (first === undefined) return [];
    const tokens = own.reduce((sum, chunk) => sum + chunk.tokens, 0);
    return [{ ...mapped(first, (fragment) => withArguments(fragment, call.arguments)), tokens }];
  });
}

function merged(chunks: readonly FragmentChunk[]): readonly FragmentChunk[] {
  if (chunks.length === 0) return chunks;
  const tokens = chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
  return [{ fragments: chunks.flatMap((chunk) => chunk.fragments), call: 0, head: true, tokens }];
}

/** The head with empty arguments, then all of them at once: "" and "{}" for a call that has none. */
function twoPieces(chunks: readonly FragmentChunk[], calls: readonly ToolCall[]): readonly FragmentChunk[] {
  return wholeCalls(chunks, calls).flatMap((chunk) => {
    const index = chunk.fragments[0]?.index;
    const rest = {
      ...(index === undefined ? {} : { index }),
      function: { arguments: calls[chunk.call]?.arguments ?? '' },
    };
    return [
      mapped({ ...chunk, tokens: 0 }, (one) => withArguments(one, '')),
      { ...chunk, head: false, fragments: [rest] },
    ];
  });
}

/** The id comes with the second chunk of a call; a call of one chunk keeps it. */
function idLate(chunks: readonly FragmentChunk[]): readonly FragmentChunk[] {
  return chunks.map((chunk, place) => {
    const before = chunks[place - 1];
    const next = chunks[place + 1];
    if (chunk.head && next?.call === chunk.call) return mapped(chunk, ({ id: _, ...rest }) => rest);
    const id = before?.head === true && before.call === chunk.call ? before.fragments[0]?.id : undefined;
    return id === undefined ? chunk : mapped(chunk, (fragment) => ({ ...fragment, id }));
  });
}

function nameSplit(chunks: readonly FragmentChunk[], calls: readonly ToolCall[]): readonly FragmentChunk[] {
  return chunks.flatMap((chunk) => {
    const name = calls[chunk.call]?.name ?? '';
    if (!chunk.head || name.length < 2) return [chunk];
    const middle = Math.ceil(name.length / 2);
    const { index } = chunk.fragments[0] ?? {};
    const rest: Fragment = { ...(index === undefined ? {} : { index }), function: { name: name.slice(middle) } };
    return [
      mapped(chunk, (one) => ({ ...one, function: { ...one.function, name: name.slice(0, middle) } })),
      { ...chunk, head: false, tokens: 0, fragments: [rest] },
    ];
  });
}

/** The name comes with the first piece of arguments instead of the head; a call without pieces keeps it. */
function nameLate(chunks: readonly FragmentChunk[]): readonly FragmentChunk[] {
  return chunks.map((chunk, place) => {
    const before = chunks[place - 1];
    const next = chunks[place + 1];
    if (chunk.head && next?.call === chunk.call) {
      return mapped(chunk, (one) => ({ ...one, function: { arguments: one.function?.arguments } }));
    }
    const name = before?.head === true && before.call === chunk.call ? before.fragments[0]?.function?.name : undefined;
    return name === undefined ? chunk : mapped(chunk, (one) => ({ ...one, function: { name, ...one.function } }));
  });
}

function interleaved(chunks: readonly FragmentChunk[], calls: number): readonly FragmentChunk[] {
  const queues = Array.from({ length: calls }, (_, call) => chunks.filter((chunk) => chunk.call === call));
  const longest = Math.max(0, ...queues.map((queue) => queue.length));
  return Array.from({ length: longest }, (_, turn) => queues.flatMap((queue) => queue[turn] ?? [])).flat();
}
