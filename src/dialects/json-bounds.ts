/** What a JSON text may hold before it is parsed. */
export interface JsonLimits {
  readonly maxDepth: number;
  /** Of objects, lists, and what is in them. */
  readonly maxValues: number;
}

/** Follows a JSON text as it comes, in pieces of any size. */
export interface JsonBounds {
  /** Takes the next piece. False once the text has passed a limit. */
  readonly push: (text: string) => boolean;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Tells whether a text may be parsed: parsing cannot be broken off, and what it costs is decided by the number of values and
 * their nesting much more than by the length (60 MB of `{},` took 12 s, as much text 0.1 s). Looks at brackets, commas and
 * quotes alone: what is no JSON at all may pass, and is refused cheaply when it is parsed.
 */
export function createJsonBounds({ maxDepth, maxValues }: JsonLimits): JsonBounds {
  let depth = 0;
  let values = 0;
  let inString = false;
  let isEscaped = false;
  let isWithin = true;

  /** Gives where the string that `at` is in goes on or ends. */
  function skipString(text: string, from: number): number {
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (code === backslash) isEscaped = true;
      else if (code === quote) {
        inString = false;
        return at + 1;
      }
    }
    return text.length;
  }

  function count(code: number): void {
    if (code === openBrace || code === openBracket) {
      depth += 1;
      values += 1;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (code === comma) values += 1;
    else if (code === quote) inString = true;
  }

  return {
    push: (text) => {
      for (let at = 0; isWithin && at < text.length;) {
        if (inString) at = skipString(text, at);
        else {
          count(text.charCodeAt(at));
          at += 1;
          isWithin = depth <= maxDepth && values <= maxValues;
        }
      }
      return isWithin;
    },
  };
}
