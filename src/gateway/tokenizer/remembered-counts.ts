import { createHmac, hash, randomBytes } from 'node:crypto';

export type TextCounts = ReturnType<ReturnType<typeof createRememberedCounts>['within']>;

/** Shorter texts are counted as quickly as their digests are computed. */
const minCharacters = 128;
/** Maximum number of counts of a generation, of which there are two. A count takes about 120 bytes. */
const maxCounts = 25_000;
/** How long a generation takes new counts. A count that is not used is forgotten after at most twice as long. */
const generationMs = 15 * 60_000;

/**
 * The counts of texts that were counted before. A text is a stretch of a prompt between two written tokens, such as a message of a
 * conversation: no token spans its ends, so its count is the same in every prompt of the same tokenizer.
 * Remembers counts by digests of their texts, never the texts. The key of the digests is random, and lives as long as the process.
 * Counts that are used move into the younger of two generations; the older one is dropped whole.
 */
export function createRememberedCounts({ elapsed }: { readonly elapsed: () => number }) {
  const secret = randomBytes(32);
  let young = new Map<string, number>();
  let old = new Map<string, number>();
  let bornAt = elapsed();

  function age(): void {
    const ageMs = elapsed() - bornAt;
    if (young.size < maxCounts && ageMs < generationMs) return;
    old = ageMs < 2 * generationMs ? young : new Map();
    young = new Map();
    bornAt = elapsed();
  }

  function set(key: string, tokens: number): void {
    age();
    young.set(key, tokens);
  }

  return {
    size: (): number => young.size + old.size,
    /** The counts of one tokenizer and of those who may share them. Prompts of other scopes find none of them. */
    within: (path: string, scope: string) => {
      const salt = createHmac('sha256', secret).update(`${path} ${scope}`).digest('hex');
      return {
        /** The key of a text; undefined for a text that is not remembered. */
        keyOf: (text: string, isFirst: boolean): string | undefined =>
          // Texts that differ in halves of characters have the same bytes, and so the same digest.
          text.length < minCharacters || !text.isWellFormed()
            ? undefined
            : hash('sha256', `${salt}${isFirst ? '^' : ''}${text}`, 'base64'),
        get: (key: string): number | undefined => {
          age();
          const tokens = young.get(key) ?? old.get(key);
          if (tokens !== undefined) set(key, tokens);
          return tokens;
        },
        set,
      };
    },
  };
}
