/** The texts that are embedded to find out whether engines make the same vectors (docs/concepts/same-vectors.md). */
import { createHash } from 'node:crypto';

export const probeTextNames = ['short', 'long', 'non-Latin', 'code'] as const;
export type ProbeTextName = (typeof probeTextNames)[number];

/**
 * Four texts, each of which shows what others hide. A prefix before each text changes a short one most, another pooling a long one.
 * A window that is too small cuts only the long one. Tokenizers differ most in other scripts and in code. Never edit a text: the
 * vectors of the old one are in databases.
 *
 * No tokenizer makes more tokens than a text has bytes, so each fits the smallest window in use: 512 tokens, of BERT, and of the
 * physical batch of llama.cpp.
 */
const texts: Readonly<Record<ProbeTextName, string>> = {
  short: 'A weir raises a river.',
  long:
    'A weir is a low barrier across a river. It raises the level of the water behind it, and lets the rest flow over its crest. ' +
    'Mills used weirs to lead a part of the river to their wheels. Engineers measure the flow of a stream by the height of the ' +
    'water above the crest. A fish ladder beside the weir lets salmon swim up to the place where they were born. In a flood the ' +
    'weir disappears below the water, and boats must keep away from the current.',
  'non-Latin': 'Плотина поднимает уровень реки. 堰は川の水位を上げる。 السد يرفع مستوى النهر',
  code: 'export function flow(heightM: number): number {\n  return heightM <= 0 ? 0 : 1.84 * heightM ** 1.5;\n}\n',
};

/** Special tokens that engines add to a text. */
const specialTokens = 8;
/** The window that each of the texts fits. */
const enough = 512;

/** The probe texts for a model, in the order of `probeTextNames`. A window below 512 tokens gets the beginning of a longer text. */
export function probeTexts({ contextLength }: { readonly contextLength: number }): readonly string[] {
  const all = probeTextNames.map((name) => texts[name]);
  if (contextLength >= enough) return all;
  const maxBytes = Math.max(4, contextLength - specialTokens);
  return all.map((text) => beginningOf(text, maxBytes));
}

/** The longest beginning of a text that has at most so many bytes in UTF-8. */
function beginningOf(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** A digest of probe texts. Vectors of other texts cannot be compared. */
export function digestOfTexts(of: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 16);
}
