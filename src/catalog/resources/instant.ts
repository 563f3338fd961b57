import * as z from 'zod';
import { withCel } from './rules.ts';

const expected = 'expected a date and time such as "2026-06-01T00:00:00Z"';

const calendarTime = z.iso
  .datetime({ offset: true, error: expected })
  .max(40)
  // zod's own pattern knows the calendar. The API server has that from the format, and is only told to want capitals.
  .meta({ pattern: '^[0-9-]{10}T[0-9:.]+(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$' });

/**
 * A moment as RFC 3339 text: date, time and offset (the `date-time` format of OpenAPI). Of a value with that format the
 * API server does not ask whether it is text, and would take a list; a rule that reads it refuses that.
 */
export const instant = withCel(calendarTime, [{ rule: 'self.getFullYear() >= 0', message: expected }]);

/** Whole Unix seconds of an instant that was validated. */
export function unixSeconds(text: string): number {
  return Math.floor(Date.parse(text) / 1000);
}
