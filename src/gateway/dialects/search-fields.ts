import { z } from 'zod';
import { listOf } from '../../core/body-schema.ts';
import { isSite, type SearchDomains, type UserLocation } from '../../core/web-search.ts';
import { present } from './read-body.ts';

/** The fields of a web search that several formats have. */
export const sites = listOf(
  z.string().max(500).refine(isSite, 'expected a site such as example.com or example.com/docs, without https://'),
  { max: 1000 },
);

const place = z.string().max(255);

export const userLocation = z.object({
  type: z.literal('approximate').nullish(),
  city: place.nullish(),
  region: place.nullish(),
  country: z
    .string()
    .regex(/^[A-Za-z]{2}$/, 'expected a country of two letters, such as CH')
    .nullish(),
  timezone: place.nullish(),
});

/** The sites that a search may find. Of both lists the allowed sites count. */
export function readDomains(
  allowed: readonly string[] | null | undefined,
  blocked: readonly string[] | null | undefined,
): SearchDomains | undefined {
  if (allowed?.length) return { kind: 'allowed', names: allowed };
  return blocked?.length ? { kind: 'blocked', names: blocked } : undefined;
}

export function readLocation(location: z.infer<typeof userLocation> | null | undefined): UserLocation | undefined {
  const { city, region, country, timezone } = location ?? {};
  const place = present({ city, region, country: country?.toUpperCase(), timezone });
  return Object.keys(place).length === 0 ? undefined : place;
}
