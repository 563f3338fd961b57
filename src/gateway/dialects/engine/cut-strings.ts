const quote = 0x22;
const backslash = 0x5c;
const letterU = 0x75;

/**
 * Shortens the long strings of a JSON text while its pieces arrive, so that what an engine repeats of its request is neither kept nor
 * parsed. The result is JSON if the text is. Strings of up to `maxLength` characters, as they are written, stay as they are.
 */
export function createStringCutter(maxLength: number): (piece: string) => string {
  let isInString = false;
  /** Characters of the string so far. */
  let length = 0;
  /** Characters that still belong to an escape. */
  let escaped = 0;
  let isBackslash = false;
  let isCutting = false;

  /** Returns whether the character ends the string. */
  function pass(code: number): boolean {
    if (escaped > 0) {
      escaped -= 1;
      if (isBackslash && code === letterU) escaped = 4;
      isBackslash = false;
      return false;
    }
    if (code === backslash) {
      escaped = 1;
      isBackslash = true;
    }
    return code === quote;
  }

  return (piece) => {
    let kept = '';
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (!isInString) {
        isInString = code === quote;
        length = 0;
        continue;
      }
      // An escape is never cut in two.
      if (!isCutting && length >= maxLength && escaped === 0) {
        kept += piece.slice(from, at);
        isCutting = true;
      }
      length += 1;
      if (!pass(code)) continue;
      if (isCutting) from = at;
      isInString = false;
      isCutting = false;
    }
    return isCutting ? kept : kept + piece.slice(from);
  };
}
