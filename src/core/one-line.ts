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

/** Shortens a text to at most `most` UTF-16 units, with a mark behind them, and never in the middle of a character. */
export function cutText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** Maximum length of a caller's text that a message repeats, UTF-16 units: the length of the longest id of a model. */
const maxQuoted = 128;

/** A caller's text as a message repeats it: in quotes, and cut. */
export function quoted(text: string): string {
  return JSON.stringify(cutText(text, maxQuoted));
}

/**
 * Maximum length of a status's text, UTF-16 units. It becomes a header, in which a unit takes up to 9 bytes. A client that gets more
 * headers than it accepts, often 8 KiB, ends the connection with all of its calls.
 */
const maxStatusText = 512;

/**
 * For an interceptor of grpc-js: bounds the text of the status with which a call ends, whoever wrote it. Services of libraries repeat what
 * the caller sent.
 */
export const boundedStatus = {
  sendStatus: <Status extends { readonly details: string }>(status: Status, send: (status: Status) => void): void =>
    send({ ...status, details: cutText(toOneLine(status.details, maxStatusText + 1), maxStatusText) }),
};
