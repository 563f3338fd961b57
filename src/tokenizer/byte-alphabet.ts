/**
 * GPT-2's alphabet: byte-level vocabularies write every byte as one printable character. Bytes that print stand for
 * themselves, the others follow from U+0100 on.
 */
function printable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

let others = 0;

/** The character of each byte. */
export const byteCharacters: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(printable(byte) ? byte : 0x100 + others++),
);

/** The byte of each character. */
export const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  byteCharacters.map((character, byte) => [character, byte]),
);

/** The text that a token of a byte-level vocabulary stands for; undefined when its bytes are no whole characters. */
export function textOfToken(token: string): string | undefined {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOfCharacter.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}
