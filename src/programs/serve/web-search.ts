import type { SealFiles } from '../../core/web-search.ts';
import type { DependencyReport } from '../../core/dependency-cause.ts';
import type { Upstream } from '../../gateway/core/upstream.ts';
import { systemClock } from '../../process/clock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { openSeal } from '../../gateway/web-search/seal/seal.ts';

const loadProviders = () => import('../../gateway/web-search/providers/open-search.ts');

/** Opens the provider and the seal. Without a provider, results that were sealed earlier can still be opened. Reasoning is sealed in the same way. */
export async function openWebSearch(settings: Settings, upstream: Upstream, report: DependencyReport) {
  const { WEIR_WEB_SEARCH: provider, WEIR_WEB_SEARCH_PRICE: price } = settings;
  const options = { upstream, clock: systemClock, report };
  const found = provider === undefined ? undefined : await (await loadProviders()).openSearch(provider, options);
  const sealing = sealFiles(settings);
  const search = sealing && {
    seal: openSeal({ ...sealing, elapsed: systemClock.elapsed }),
    price,
    provider: found?.provider,
  };
  return { found, sealing, search };
}

/**
 * The files of the keys that seal search results; undefined if nothing is sealed or opened. Throws if several replicas
 * would each make their own key.
 */
export function sealFiles(settings: Settings): SealFiles | undefined {
  const keyFile = settings.WEIR_SEAL_KEY_FILE;
  const isUsed = settings.WEIR_WEB_SEARCH !== undefined || settings.WEIR_RESPONSES !== 'off';
  if (!isUsed && keyFile === undefined) return undefined;
  const isShared = settings.WEIR_VALKEY_URL !== undefined || settings.WEIR_DATABASE_URL?.startsWith('postgres');
  if (keyFile === undefined && isShared) {
    throw new Error(
      'WEIR_SEAL_KEY_FILE: needed for web search and for WEIR_RESPONSES with a shared database or Valkey: what one replica seals, the others must open',
    );
  }
  return { keyFile, ownFile: `${settings.WEIR_DATA}/seal.key` };
}
