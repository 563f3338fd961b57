/** A moment in the form of a `datetime-local` field: in the reader's zone, without the name of the zone. Null gives an empty field. */
export function localMinute(iso: string | null): string {
  if (iso === null) return '';
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [String(moment.getFullYear()).padStart(4, '0'), two(moment.getMonth() + 1), two(moment.getDate())];
  return `${day.join('-')}T${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

/** The moment of a `datetime-local` field, in UTC. */
export const isoOfLocal = (local: string): string => new Date(local).toISOString();
