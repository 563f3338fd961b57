import { expect, it } from 'vitest';
import { digestOfTexts, probeTextNames, probeTexts } from './vector-probe.ts';

it('has four texts that fit a window of 512 tokens, whatever the tokenizer', () => {
  const texts = probeTexts({ contextLength: 8192 });
  expect(texts).toHaveLength(probeTextNames.length);
  for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(504);
  expect(probeTexts({ contextLength: 512 })).toEqual(texts);
});

// The vectors of these texts are in the databases of operators.
it('never changes its texts', () => {
  expect(digestOfTexts(probeTexts({ contextLength: 512 }))).toBe('53fef59657029fe1');
});

it('cuts texts for a smaller window at whole characters', () => {
  for (const contextLength of [1, 16, 64, 256]) {
    const texts = probeTexts({ contextLength });
    for (const text of texts) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(4, contextLength - 8));
      expect(text.isWellFormed() && text.length > 0, `${contextLength}: ${text}`).toBe(true);
    }
  }
});

it('tells texts of another window apart by their digest', () => {
  const [small, large] = [64, 512].map((contextLength) => digestOfTexts(probeTexts({ contextLength })));
  expect(small).not.toBe(large);
});
