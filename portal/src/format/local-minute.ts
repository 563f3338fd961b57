/** A moment in the form of a `datetime-local` field: in the reader's zone, without the name of the zone. Null gives an empty field. */
export function localMinute(iso: string | null): string {
  const moment = new Date(iso ?? '');
  if (Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment of a `datetime-local` field, in UTC. */
export const isoOfLocal = (local: string): string => new Date(local).toISOString();
