import * as z from 'zod';

const expected = 'expected a date and time such as "2026-06-01T00:00:00Z"';

/** A moment as RFC 3339 text: date, time and offset (the `date-time` format of OpenAPI). */
export const instant = z.iso.datetime({ offset: true, error: expected }).max(40);

/** Whole Unix seconds of an instant that was validated. */
export function unixSeconds(text: string): number {
  return Math.floor(Date.parse(text) / 1000);
}
