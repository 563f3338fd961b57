import type { Upstream } from '../../gateway/core/upstream.ts';
import { systemClock } from '../../process/clock.ts';
import { sealFiles, type Settings } from '../../process/settings/settings.ts';
import { openSearch } from '../../gateway/web-search/providers/open-search.ts';
import { openSeal } from '../../gateway/web-search/seal/seal.ts';

/** Opens the provider and the seal. Without a provider, results that were sealed earlier can still be opened. Reasoning is sealed in the same way. */
export async function openWebSearch(settings: Settings, upstream: Upstream) {
  const { WEIR_WEB_SEARCH: provider, WEIR_WEB_SEARCH_PRICE: price } = settings;
  const found = provider === undefined ? undefined : await openSearch(provider, { upstream, clock: systemClock });
  const sealing = sealFiles(settings);
  const search = sealing && {
    seal: openSeal({ ...sealing, elapsed: systemClock.elapsed }),
    price,
    provider: found?.provider,
  };
  return { found, sealing, search };
}
