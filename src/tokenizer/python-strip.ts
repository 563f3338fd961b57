/** What Python's `str.isspace` accepts. JavaScript's `trim` takes U+FEFF besides and leaves U+001C to U+001F and U+0085. */
const blanks =
  '\t\n\v\f\r\u001C\u001D\u001E\u001F \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000';

export type Sides = 'both' | 'left' | 'right';

/** Python's `str.strip`, `lstrip` and `rstrip`: takes any of `characters` off the ends. */
export function pythonStrip(text: string, sides: Sides, characters: string | undefined): string {
  const taken = new Set(characters ?? blanks);
  let start = 0;
  let end = text.length;
  while (sides !== 'right' && start < end) {
    const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
    if (!taken.has(character)) break;
    start += character.length;
  }
  while (sides !== 'left' && end > start) {
    const low = text.charCodeAt(end - 1);
    const length = low >= 0xdc00 && low <= 0xdfff && end - start > 1 ? 2 : 1;
    if (!taken.has(text.slice(end - length, end))) break;
    end -= length;
  }
  return text.slice(start, end);
}
