/** Follows a JSON object or list to its end, in pieces of any size. */
export interface JsonEnd {
  readonly push: (text: string) => void;
  /** Whether the value that began has ended: nothing but white space can follow. */
  readonly isOver: () => boolean;
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Looks at brackets and quotes alone: what is no JSON at all may seem to end somewhere, or never. */
export function createJsonEnd(): JsonEnd {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let begun = false;
  let isOver = false;

  /** Gives where the string that `from` is in goes on or ends. */
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

  function take(code: number): void {
    if (code === quote) inString = true;
    else if (code === openBrace || code === openBracket) {
      begun = true;
      depth += 1;
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      isOver = begun && depth <= 0;
    }
  }

  return {
    isOver: () => isOver,
    push: (text) => {
      for (let at = 0; at < text.length && !isOver;) {
        if (inString) at = skipString(text, at);
        else {
          take(text.charCodeAt(at));
          at += 1;
        }
      }
    },
  };
}
