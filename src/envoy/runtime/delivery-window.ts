/**
 * How many bytes of one answer may be on their way to its reader, unconfirmed. Pure: who knows what the reader has taken
 * says so with `confirm`.
 *
 *   written ──────────────► bytes handed to Envoy
 *   marked ───────────►     bytes written at the last sample: what a sample taken now can speak of
 *   confirmed ────►         bytes known to have reached the reader's kernel
 */
export interface DeliveryWindow {
  readonly limitBytes: number;
  written: number;
  marked: number;
  confirmed: number;
}

export function openWindow(limitBytes: number): DeliveryWindow {
  return { limitBytes, written: 0, marked: 0, confirmed: 0 };
}

export function unconfirmed(window: DeliveryWindow): number {
  return window.written - window.confirmed;
}

/** Whether another piece may be written. The last piece may reach over the limit: a piece is never cut. */
export function hasRoom(window: DeliveryWindow): boolean {
  return unconfirmed(window) < window.limitBytes;
}

/** From here on the answer is worth watching. A reader that keeps up is confirmed long before it reaches the limit. */
export function isWatched(window: DeliveryWindow): boolean {
  return unconfirmed(window) > window.limitBytes / 2;
}

/** What a sample shows of the connection an answer goes to. */
export type Sight =
  /** Nothing written before the last sample is still held for the reader. */
  | 'clear'
  /** The reader has not taken what it was sent. */
  | 'held'
  /** Somebody's bytes are held, and whose they are cannot be seen. */
  | 'unclear';

/**
 * Applies a sample. Bytes written since the sample before may not have reached Envoy yet, so a clear sight confirms only
 * up to the mark. An unclear one lets `trickleBytes` more through: a reader that keeps up goes on slowly, and one that
 * does not is cut by Envoy when it holds too much.
 */
export function applySample(window: DeliveryWindow, sight: Sight, trickleBytes: number): void {
  switch (sight) {
    case 'clear':
      window.confirmed = Math.max(window.confirmed, window.marked);
      break;
    case 'held':
      break;
    case 'unclear':
      window.confirmed = Math.min(window.written, window.confirmed + trickleBytes);
      break;
  }
  window.marked = window.written;
}
