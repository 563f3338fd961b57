/** Follows a JSON object or list to its end, in pieces of any size. */
export interface JsonEnd {
  readonly push: (text: string) => void;
  /** Whether the value that began has ended: nothing but white space can follow. */
  readonly isOver: () => boolean;
}

/** Looks at brackets and quotes alone: what is no JSON at all may seem to end somewhere, or never. */
export function createJsonEnd(): JsonEnd {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let begun = false;
  let isOver = false;

  function take(character: string): void {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (character === '\\') isEscaped = true;
      else if (character === '"') inString = false;
      return;
    }
    switch (character) {
      case '"':
        inString = true;
        return;
      case '{':
      case '[':
        begun = true;
        depth += 1;
        return;
      case '}':
      case ']':
        depth -= 1;
        isOver = begun && depth <= 0;
        return;
      default:
    }
  }

  return {
    isOver: () => isOver,
    push: (text) => {
      for (let at = 0; at < text.length && !isOver; at += 1) take(text.charAt(at));
    },
  };
}
