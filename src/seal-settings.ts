import type { SealFiles } from './core/web-search.ts';
import type { Settings } from './settings.ts';

/**
 * The files of the keys that seal search results; undefined if nothing is sealed or opened. Throws if several replicas
 * would each make their own key.
 */
export function sealFiles(settings: Settings): SealFiles | undefined {
  const keyFile = settings.WEIR_SEAL_KEY_FILE;
  if (settings.WEIR_WEB_SEARCH === undefined && keyFile === undefined) return undefined;
  const isShared = settings.WEIR_VALKEY_URL !== undefined || settings.WEIR_DATABASE_URL?.startsWith('postgres');
  if (keyFile === undefined && isShared) {
    throw new Error(
      'WEIR_SEAL_KEY_FILE: needed for web search with a shared database or Valkey: what one replica seals, the others must open',
    );
  }
  return { keyFile, ownFile: `${settings.WEIR_DATA}/seal.key` };
}
