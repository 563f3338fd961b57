import { closestMatch } from 'leven';

/** Most letters that may differ. With more, it is another word. */
const maxSlips = 3;

/**
 * The known name that a mistyped one most likely means, by the letters that differ; undefined when no known name is
 * near. Ignores case.
 */
export function nearName(typed: string, known: readonly string[]): string | undefined {
  const byLowercase = new Map(known.map((name) => [name.toLowerCase(), name]));
  // In a short word, at least half of the letters must be right.
  const maxDistance = Math.min(maxSlips, Math.floor(typed.length / 2));
  const near = closestMatch(typed.toLowerCase(), [...byLowercase.keys()], { maxDistance });
  return near === undefined ? undefined : byLowercase.get(near);
}

/** The end of a message that refuses an unknown name, in commander's form: ` (Did you mean X?)`, or nothing. */
export function didYouMean(typed: string, known: readonly string[]): string {
  const near = nearName(typed, known);
  return near === undefined ? '' : ` (Did you mean ${near}?)`;
}
