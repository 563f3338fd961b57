/** Line breaks, controls of a terminal, changes of the direction of text, and halves of surrogate pairs, which PostgreSQL refuses. */
const unprintable = String.raw`[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]`;
const someUnprintable = new RegExp(unprintable, 'u');
export const eachUnprintable = new RegExp(unprintable, 'gu');

export function isOneLine(text: string): boolean {
  return !someUnprintable.test(text);
}

/** Makes one line of a text from another program: at most `most` UTF-16 units, without blanks around it. */
export function toOneLine(text: string, most: number): string {
  return text.replaceAll(eachUnprintable, '').trim().slice(0, most).replaceAll(eachUnprintable, '');
}
