import { type Alignment, createJsonAligner } from './align-json.ts';

/** Watches for text that was delivered to come again in a new answer, before it goes on. */
export interface TextWatch {
  /** What the piece says beyond it: empty while it has not come so far. Undefined: it says something else. */
  readonly push: (piece: string) => string | undefined;
  /** Whether all of it has come again. */
  readonly isComplete: () => boolean;
}

/** Compares to the letter. */
function alignText(delivered: string, said: string): Alignment {
  if (said.startsWith(delivered)) return delivered.length;
  return delivered.startsWith(said) ? 'more' : undefined;
}

/** Watches for text to come again, to the letter. */
export function watchText(delivered: string): TextWatch {
  return watch(delivered, (said) => alignText(delivered, said));
}

/** Watches for JSON to come again, whatever white space and escapes the other engine writes. */
export function watchJson(delivered: string): TextWatch {
  const aligner = createJsonAligner(delivered);
  let isJson = true;
  return watch(delivered, (said, piece) => {
    const at = isJson ? aligner.push(piece) : undefined;
    if (at !== undefined) return at;
    // What a model writes as JSON need not be any.
    isJson = false;
    return alignText(delivered, said);
  });
}

function watch(delivered: string, align: (said: string, piece: string) => Alignment): TextWatch {
  let said = '';
  let isComplete = delivered === '';
  return {
    isComplete: () => isComplete,
    push: (piece) => {
      if (isComplete) return piece;
      said += piece;
      const at = align(said, piece);
      if (at === 'more') return '';
      if (at === undefined) return undefined;
      isComplete = true;
      return said.slice(at);
    },
  };
}
