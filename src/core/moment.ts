import { z } from 'zod';

export const momentSchema = z.iso
  .datetime()
  .meta({ description: 'ISO 8601, in UTC.', example: '2026-07-01T12:00:00.000Z' });

const dayOrMoment = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads a UTC day (`2026-07-01`, its first moment) or a moment with its offset (`2026-07-01T12:00:00Z`), ISO 8601. Returns milliseconds
 * since the Unix epoch; undefined for any other text, and for a day that is not in the calendar: `Date.parse` reads 31 February as
 * 3 March.
 */
export function readMoment(text: string): number | undefined {
  const [, year, month, day] = dayOrMoment.exec(text) ?? [];
  if (new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
