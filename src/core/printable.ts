import { eachUnprintable } from './one-line.ts';

/** The form of JSON, so that JSON stays JSON of the same text. */
function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Escapes what a terminal would act on: a text may hold names that strangers chose, and with a control a name can move
 * the cursor, change what was printed, or write to the clipboard. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll(eachUnprintable, (found, at: number) => {
    const isBreak = found === '\n' || found === '\t' || (found === '\r' && text[at + 1] === '\n');
    return isBreak ? found : escape(found);
  });
}

/** Like `printable`, for a part of a line: a line break would begin a line in our name. */
export const printableLine = (text: string): string => text.replaceAll(eachUnprintable, escape);
