import { extension, typed } from './typed.ts';
import type { JsonObject } from './typed.ts';

const localRateLimit = 'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit';

/** Names in the filter chain. Routes refer to them, so the two limits are two filters. */
const floodFilter = 'weir.flood';
export const modelsFilter = 'weir.models';

/**
 * Addresses remembered at once. An address pushed out starts again with a full bucket, so this must be well above the
 * number that are active within the time a bucket takes to refill. About 400 bytes each.
 */
const rememberedAddresses = 50_000;

/** No client may be served more than this many requests, whatever it asks for: what is above never reaches the service. */
export function floodLimit(limit: { readonly perSecond: number; readonly burst: number }): JsonObject {
  return extension(floodFilter, localRateLimit, {
    ...bucketPerAddress('flood', { tokens: limit.perSecond, everySeconds: 1, burst: limit.burst }),
    response_headers_to_add: [retryAfter(1)],
  });
}

/** Does nothing except on the route that carries `modelsLimit`. */
export function modelsLimitFilter(): JsonObject {
  return extension(modelsFilter, localRateLimit, { stat_prefix: 'models' });
}

/** Per-route part of the catalog's limit (docs/reference/api.md §8). */
export function modelsLimit(limit: { readonly perMinute: number; readonly burst: number }): JsonObject {
  const divisor = greatestCommonDivisor(limit.perMinute, 60);
  return typed(localRateLimit, {
    ...bucketPerAddress('models', {
      tokens: limit.perMinute / divisor,
      everySeconds: 60 / divisor,
      burst: limit.burst,
    }),
    response_headers_to_add: [
      // The bucket refills continuously: one token is never further away than this.
      retryAfter(Math.max(1, Math.ceil(60 / limit.perMinute))),
      // The catalog is open to browsers, and so is its refusal.
      { header: { key: 'access-control-allow-origin', value: '*' }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
    ],
  });
}

function bucketPerAddress(
  name: string,
  bucket: { readonly tokens: number; readonly everySeconds: number; readonly burst: number },
): JsonObject {
  const always = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  return {
    stat_prefix: name,
    filter_enabled: always,
    filter_enforced: always,
    // Taken only by a request without an address, which does not exist.
    token_bucket: { max_tokens: 4_000_000_000, tokens_per_fill: 4_000_000_000, fill_interval: '1s' },
    always_consume_default_token_bucket: false,
    max_dynamic_descriptors: rememberedAddresses,
    // One subscriber of an IPv6 network holds a /64.
    rate_limits: [{ actions: [{ masked_remote_address: { v4_prefix_mask_len: 32, v6_prefix_mask_len: 64 } }] }],
    descriptors: [
      {
        // An entry without a value stands for every value: one bucket per address.
        entries: [{ key: 'masked_remote_address' }],
        token_bucket: {
          max_tokens: bucket.burst,
          tokens_per_fill: bucket.tokens,
          fill_interval: `${bucket.everySeconds}s`,
        },
      },
    ],
  };
}

function retryAfter(seconds: number): JsonObject {
  return { header: { key: 'retry-after', value: String(seconds) }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
