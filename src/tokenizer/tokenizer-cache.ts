import { type LoadedTokenizer, loadTokenizer } from './loaded-tokenizer.ts';

/** Loads each folder once; a broken one stays broken until the process ends. */
export interface TokenizerCache {
  /** Rejects with a `BrokenTokenizer`. */
  readonly get: (path: string) => Promise<LoadedTokenizer>;
}

export function createTokenizerCache(options: { readonly root: string; readonly now: () => number }): TokenizerCache {
  const loaded = new Map<string, Promise<LoadedTokenizer>>();
  return {
    get: (path) => {
      const known = loaded.get(path);
      if (known !== undefined) return known;
      const loading = loadTokenizer(options.root, path, options.now);
      loaded.set(path, loading);
      return loading;
    },
  };
}
