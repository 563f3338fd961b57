import { deltasOf, type RelayedEvent } from '../../core/event.ts';
import type { Content, Request } from '../../core/request.ts';

/**
 * Characters that count as one token where there is no tokenizer. It is more than tokenizers need on average, so the
 * estimate errs low. English prose has about 3.7 characters to a token without its blanks, source code fewer. Chinese
 * and Japanese have about 1.4; a surrogate pair, such as an emoji, is two such characters.
 */
const charactersPerToken = 5;
const ideographsPerToken = 2;

/**
 * Bytes of a text for each token of its estimate, at least: five characters that do not repeat have five bytes or more,
 * two ideographs six, and the two halves of a surrogate pair four.
 */
const minBytesPerEstimated = 4;

/** Maximum number of bytes that one token stands for where the tokenizer is not known: the longest runs of blanks. */
const usualMaxTokenBytes = 128;

/** Minimum number of tokens of a text with this estimate (`estimateTokens`). */
export function minTokens(estimated: number, maxTokenBytes = usualMaxTokenBytes): number {
  return Math.floor((estimated * minBytesPerEstimated) / maxTokenBytes);
}

/** First character of the East Asian scripts. Surrogate pairs are above it, too. */
const firstIdeograph = 0x2e80;

/**
 * Tokens of a text, a fraction that errs low. Blanks are free, as they mostly belong to the word that follows, and so is a
 * character that only repeats the one before it: tokenizers have single tokens for long runs of one character.
 */
export function estimateTokens(text: string): number {
  const size = emptySize();
  addSize(size, text);
  return tokensOf(size);
}

/** The size of texts: the characters that count, and bytes in UTF-8. Whole numbers, so that pieces of a text sum up to it. */
interface TextSize {
  characters: number;
  ideographs: number;
  bytes: number;
  /** The last character, so that the next piece of a text may repeat it. */
  last: number;
}

const emptySize = (): TextSize => ({ characters: 0, ideographs: 0, bytes: 0, last: 0 });

/** Tokens, a fraction that errs low. */
const tokensOf = ({ characters, ideographs }: TextSize): number =>
  characters / charactersPerToken + ideographs / ideographsPerToken;

/** ASCII text is read four characters at a time, in pieces of this length. A shorter text is not worth its copy. */
const pieceLength = 16 * 1024;
const minPieceLength = 64;
const pieceBytes = new Uint8Array(pieceLength);
const pieceWords = new Uint32Array(pieceBytes.buffer);
const encoder = new TextEncoder();

/** Adds a text's size, in one pass. */
function addSize(size: TextSize, text: string): void {
  for (let from = 0; from < text.length; from += pieceLength) {
    const piece = text.length <= pieceLength ? text : text.slice(from, from + pieceLength);
    if (piece.length < minPieceLength || !addAscii(size, piece)) addUnits(size, piece);
  }
}

/**
 * Adds the size of a piece of ASCII text. Returns false, and adds nothing, if it has other characters. No sum of two bytes below 128
 * reaches the next byte of a word. The first character is in the lowest byte, as on all platforms of the service.
 */
function addAscii(size: TextSize, piece: string): boolean {
  const { read, written } = encoder.encodeInto(piece, pieceBytes);
  // Every other character has more bytes than UTF-16 units, and may leave no room for the last ones.
  if (read !== piece.length || written !== read) return false;
  const end = written & ~3;
  let characters = 0;
  let { last } = size;
  // A character beyond ASCII differs from each of the piece.
  if (last > 0x7f) last = 0;
  for (let at = 0; at < end; at += 4) {
    const word = pieceWords[at >> 2] ?? 0;
    const changes = (word ^ ((word << 8) | last)) + 0x7f7f7f7f;
    const prints = word + 0x5f5f5f5f;
    // The highest bit of each byte whose character is no blank and does not repeat the one before it; then their number.
    characters += Math.imul((changes & prints & 0x80808080) >>> 7, 0x01010101) >>> 24;
    last = word >>> 24;
  }
  size.characters += characters;
  size.bytes += end;
  size.last = last;
  addUnits(size, piece.slice(end));
  return true;
}

/**
 * Adds the size of a text, unit by unit. Comparisons of the usual characters are added up and not branched on: where words end cannot
 * be predicted.
 */
function addUnits(size: TextSize, text: string): void {
  let characters = 0;
  let ideographs = 0;
  let beyondAscii = 0;
  let { last } = size;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const counts = Number(code > 0x20) & Number(code !== last);
    characters += counts;
    if (code > 0x7f) {
      beyondAscii += extraBytes(code);
      if (code >= firstIdeograph) ideographs += counts;
    }
    last = code;
  }
  size.characters += characters - ideographs;
  size.ideographs += ideographs;
  size.bytes += text.length + beyondAscii;
  size.last = last;
}

/**
 * Bytes of a UTF-16 unit in UTF-8, beyond the one byte that every unit is counted with. Each half of a surrogate pair
 * has two bytes.
 */
const extraBytes = (code: number): number => (code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1);

function ofContent(content: Content | undefined): number {
  if (content === undefined) return 0;
  if (typeof content === 'string') return estimateTokens(content);
  let sum = 0;
  for (const part of content) if (part.type === 'text') sum += estimateTokens(part.text);
  return sum;
}

/**
 * Tokens of the text that an engine gets as its prompt, and the part of them in messages: messages, replayed reasoning and
 * calls, and tools. Ignored parts of a body, and the bytes of images, do not count. Reasoning counts from the last question
 * on: chat templates leave out earlier reasoning.
 */
export function estimatePromptText({
  messages,
  tools,
  toolChoice,
}: Pick<Request, 'messages' | 'tools' | 'toolChoice'>): {
  readonly textTokens: number;
  readonly messageTokens: number;
} {
  const ofTools = toolChoice === 'none' || tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  let ofMessages = 0;
  const lastQuestion = messages.findLastIndex(({ role }) => role === 'user');
  for (const [at, message] of messages.entries()) {
    ofMessages += ofContent(message.content);
    if (message.role !== 'assistant') continue;
    if (at > lastQuestion) ofMessages += estimateTokens(message.reasoning ?? '');
    for (const call of message.toolCalls ?? [])
      ofMessages += estimateTokens(call.name) + estimateTokens(call.arguments);
  }
  return { textTokens: Math.ceil(ofMessages + ofTools), messageTokens: Math.ceil(ofMessages) };
}

/** Estimates the tokens of output for which no exact count exists. */
export type OutputEstimate = ReturnType<typeof createOutputEstimate>;

/** Most characters that are buffered before their size is computed. */
const maxUncounted = 16 * 1024;

/**
 * Starts empty. The size of texts is computed only on request: most are cleared before that, because their engine
 * counts them.
 */
export function createOutputEstimate() {
  let deltas = 0;
  let uncounted: string[] = [];
  let uncountedCharacters = 0;
  let characters = 0;
  let ofText = emptySize();
  const ofNames = emptySize();

  function forget(): void {
    uncounted = [];
    uncountedCharacters = 0;
  }
  function counted(): TextSize {
    for (const text of uncounted) addSize(ofText, text);
    if (uncounted.length > 0) forget();
    return ofText;
  }

  return {
    /** One token for each of the engine's own deltas, or the estimate of the text if a delta has much text. */
    tokens: (): number => Math.max(deltas, Math.floor(tokensOf(counted()))),
    /**
     * The estimate of the text alone, which is the same for a stream and for a whole answer. It is for an engine whose
     * counts are not believed: its deltas are no better evidence.
     */
    textTokens: (): number => Math.ceil(tokensOf(counted()) + tokensOf(ofNames)),
    /**
     * Whether the text and the names of calls have at least so many bytes in UTF-8. Every token stands for a byte or more. A
     * character has at least one byte, so the number of characters nearly always decides.
     */
    hasBytes: (least: number): boolean =>
      least <= characters + ofNames.bytes || least <= counted().bytes + ofNames.bytes,
    /** Whether the text has more tokens than this, however long its tokens are (`minTokens`). */
    exceeds: (tokens: number, maxTokenBytes?: number): boolean => {
      if (tokens <= 0) return characters > 0;
      // A character counts as half a token at most, so the number of characters nearly always decides.
      return [() => characters / ideographsPerToken, () => tokensOf(counted())].every(
        (estimated) => minTokens(estimated(), maxTokenBytes) > tokens,
      );
    },
    clear: (): void => {
      deltas = 0;
      characters = 0;
      ofText = emptySize();
      forget();
    },
    take: (event: RelayedEvent): void => {
      deltas += deltasOf(event);
      if (event.type === 'tool-start') addSize(ofNames, event.name);
      if (!('text' in event) || event.text === '') return;
      uncounted.push(event.text);
      characters += event.text.length;
      uncountedCharacters += event.text.length;
      if (uncountedCharacters > maxUncounted) counted();
    },
  };
}

/**
 * Delivered text that is still to be counted, in runs: an engine writes reasoning, text and calls separately, so no token spans
 * two runs.
 */
export type CountedRuns = ReturnType<typeof createRuns>;

/** Starts without text. */
export function createRuns() {
  let texts: string[] = [];
  let last = '';
  let length = 0;

  function add(kind: string, text: string): void {
    if (text === '') return;
    if (kind === last) texts[texts.length - 1] += text;
    else texts.push(text);
    last = kind;
    length += text.length;
  }

  return {
    /** UTF-16 units in all. */
    length: (): number => length,
    texts: (): readonly string[] => texts,
    clear: (): void => {
      texts = [];
      last = '';
      length = 0;
    },
    take: (event: RelayedEvent): void => {
      switch (event.type) {
        case 'usage':
        case 'finish':
        // The tokens of these events were counted before the events were sent.
        case 'search-call':
        case 'search-result':
        // Vectors and scores have no tokens.
        case 'vectors':
        case 'ranks':
          return;
        case 'tool-start':
          add(`name ${event.choice} ${event.tool}`, event.name);
          return;
        case 'tool-delta':
          add(`arguments ${event.choice} ${event.tool}`, event.text);
          return;
        case 'text-delta':
        case 'reasoning-delta':
        case 'refusal-delta':
          add(`${event.type} ${event.choice}`, event.text);
          return;
      }
    },
  };
}

/** Counts text with the model's own tokenizer. Resolves to undefined when it cannot count this text. */
export type CountText = (text: string) => Promise<number | undefined>;

/** Tokens of all runs together; undefined when one of them cannot be counted. */
export async function countRuns(
  texts: readonly string[],
  countText: (text: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  let sum = 0;
  for (const count of await Promise.all(texts.map(countText))) {
    if (count === undefined) return undefined;
    sum += count;
  }
  return sum;
}
