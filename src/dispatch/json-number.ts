/** Parts of a number in JSON (RFC 8259 §6), named after what has been read last. */
export type NumberPart =
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent'
  | 'exponent-sign'
  | 'exponent-digits';

export const isDigit = (character: string): boolean => character >= '0' && character <= '9';

/** Whether a number may end after this part. */
export function isWholeNumber(part: string): boolean {
  return part === 'zero' || part === 'integer' || part === 'fraction' || part === 'exponent-digits';
}

/** The next part; undefined when the character does not belong to the number. */
export function nextInNumber(part: NumberPart, character: string): NumberPart | undefined {
  const isExponent = character === 'e' || character === 'E';
  switch (part) {
    case 'minus':
      return character === '0' ? 'zero' : isDigit(character) ? 'integer' : undefined;
    case 'zero':
    case 'integer':
      if (part === 'integer' && isDigit(character)) return 'integer';
      return character === '.' ? 'point' : isExponent ? 'exponent' : undefined;
    case 'point':
      return isDigit(character) ? 'fraction' : undefined;
    case 'fraction':
      return isDigit(character) ? 'fraction' : isExponent ? 'exponent' : undefined;
    case 'exponent':
      if (character === '+' || character === '-') return 'exponent-sign';
      return isDigit(character) ? 'exponent-digits' : undefined;
    case 'exponent-sign':
    case 'exponent-digits':
      return isDigit(character) ? 'exponent-digits' : undefined;
  }
}
