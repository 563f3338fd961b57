/** A text that is read by slices, so that a hundred megabytes need not be held. A string is one. */
export interface TextSource {
  readonly length: number;
  slice(from: number, to: number): string;
}

/** Every token of the bulk text is this long, so that counting its tokens is a division. */
export const bulkTokenLength = 8;

/** ASCII text of exactly this many bytes: eight-character tokens, repeated and never stored. */
export function bulkText(bytes: number): TextSource {
  return {
    length: bytes,
    slice: (from, to) => {
      const end = Math.min(to, bytes);
      const start = from % block.length;
      return block.repeat(Math.ceil((start + Math.max(0, end - from)) / block.length)).slice(start, start + end - from);
    },
  };
}

/** True when the text begins with the prefix; compares by slices. */
export function beginsWith(text: TextSource, prefix: string): boolean {
  for (let at = 0; at < prefix.length; at += sliceLength) {
    const part = prefix.slice(at, at + sliceLength);
    if (text.slice(at, at + part.length) !== part) return false;
  }
  return true;
}

/** The text after an offset. */
export function textFrom(text: TextSource, offset: number): TextSource {
  if (typeof text === 'string') return text.slice(offset);
  return { length: Math.max(0, text.length - offset), slice: (from, to) => text.slice(offset + from, offset + to) };
}

/** The text up to an offset. */
export function textUpTo(text: TextSource, end: number): TextSource {
  if (typeof text === 'string') return text.slice(0, end);
  const length = Math.min(end, text.length);
  return { length, slice: (from, to) => text.slice(from, Math.min(to, length)) };
}

const sliceLength = 65_536;
const block = [' flowing', ' onwards', ' through', ' streams', ' towards', ' forests', ' beneath', ' bridges']
  .join('')
  .repeat(64);
