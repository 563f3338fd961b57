import { messageOf } from '../../core/failure.ts';
import type { SearchSeal } from '../../core/web-search.ts';
import { ensureKeyFile, openKeyRing } from './key-ring.ts';
import { createSeal } from './seal.ts';

/**
 * Opens the deployment's seal. `ownFile`: where its key is made and kept when no file was named. Throws, naming the
 * setting, when a file that was named cannot be read.
 */
export function openSeal(options: {
  readonly keyFile: string | undefined;
  readonly ownFile: string;
  readonly elapsed: () => number;
}): SearchSeal {
  const { keyFile, ownFile, elapsed } = options;
  if (keyFile === undefined) ensureKeyFile(ownFile);
  try {
    return createSeal(openKeyRing(keyFile ?? ownFile, elapsed));
  } catch (error) {
    const name = keyFile === undefined ? ownFile : 'WEIR_SEAL_KEY_FILE';
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
}
