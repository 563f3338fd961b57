import type { Behaviour } from './behaviour.ts';

/** A value as the model writes it: as tight as JSON can be, or with white space between all of its parts. */
export function writtenJson(value: unknown, { jsonSpaces = false }: Pick<Behaviour, 'jsonSpaces'>): string {
  // Line breaks are never part of a string: those are escaped.
  return jsonSpaces ? JSON.stringify(value, undefined, 1).replaceAll(/\n */g, ' ') : JSON.stringify(value);
}
