import { furtherPaths, hasFurtherPaths, pathsOf, type ServedApi, surfacesByKind } from '../../../core/api-paths.ts';
import { extension, type Json, type ConfigObject, overwrite, typed } from './typed.ts';

export const extprocFilter = 'weir.service';

/**
 * Routes of the edge: the service answers the paths of the API (docs/reference/endpoints.md §4), and Envoy itself answers 404 to everything
 * else. Query strings do not matter.
 */
export function edgeRoutes(
  models: { readonly perMinute: number; readonly burst: number },
  served: ServedApi,
): ConfigObject {
  const catalog = { [modelsFilter]: modelsLimit(models) };
  return {
    name: 'edge',
    virtual_hosts: [
      {
        name: 'edge',
        domains: ['*'],
        routes: [
          // Two Host lines arrive joined; RFC 9112 §3.2 requires a 400.
          {
            match: { prefix: '/', headers: [{ name: ':authority', string_match: { contains: ',' } }] },
            direct_response: { status: 400 },
          },
          ...[...served.surfaces, ...surfacesByKind]
            .flatMap(pathsOf)
            .map((path) => toService({ exact: 'POST' }, { path })),
          ...(hasFurtherPaths(served) ? furtherRoutes : []),
          toService(getOrHead, { path: '/healthz' }),
          // One route for all methods, including the preflight of browsers: each route would have a bucket of its own.
          toService({ safe_regex: { regex: 'GET|HEAD|OPTIONS' } }, catalogPath(served), catalog),
          { match: { prefix: '/' }, direct_response: { status: 404 } },
          { match: { connect_matcher: {} }, direct_response: { status: 404 } },
        ],
      },
    ],
  };
}

const getOrHead: ConfigObject = { safe_regex: { regex: 'GET|HEAD' } };

const furtherRoutes: readonly ConfigObject[] = [
  toService({ exact: 'POST' }, { path: furtherPaths.countTokens }),
  toService(getOrHead, { path: furtherPaths.key }),
];

/** The list of models and its entries have one route, and so one bucket. */
const catalogPath = (served: ServedApi): ConfigObject =>
  hasFurtherPaths(served) ? { safe_regex: { regex: '/v1/models(/.+)?' } } : { path: '/v1/models' };

/** A route that turns the service's filter on: it is off elsewhere, so that no request reaches the service by accident. */
function toService(
  method: ConfigObject,
  path: ConfigObject,
  perFilter: { readonly [name: string]: Json } = {},
): ConfigObject {
  return {
    match: { ...path, headers: [{ name: ':method', string_match: method }] },
    // The service answers inside the ext_proc filter, so a request that gets this far was not answered.
    direct_response: { status: 503 },
    typed_per_filter_config: {
      [extprocFilter]: typed('envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute', { overrides: {} }),
      ...perFilter,
    },
  };
}

const localRateLimit = 'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit';

/** Names in the filter chain. Routes refer to them, so each limit is a filter of its own. */
const floodFilter = 'weir.flood';
const modelsFilter = 'weir.models';

/**
 * Addresses remembered at once, about 400 bytes each. An address that is pushed out starts again with a full bucket. So
 * there must be room for many more addresses than are active within the time that a bucket takes to refill.
 */
const rememberedAddresses = 50_000;

/** Limits the requests of one address, whatever they ask for. Requests above the limit never reach the service. */
export function floodLimit(limit: { readonly perSecond: number; readonly burst: number }): ConfigObject {
  return extension(floodFilter, localRateLimit, {
    ...bucketPerAddress('flood', { tokens: limit.perSecond, everySeconds: 1, burst: limit.burst }),
    response_headers_to_add: [retryAfter(1)],
  });
}

/** A filter that does nothing except on the route that carries `modelsLimit`. */
export function modelsLimitFilter(): ConfigObject {
  return extension(modelsFilter, localRateLimit, { stat_prefix: 'models' });
}

/** The per-route part of the limit of `GET /v1/models` (docs/reference/api.md §8). */
function modelsLimit(limit: { readonly perMinute: number; readonly burst: number }): ConfigObject {
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
      // The catalog is open to browsers, and so are refusals of it.
      overwrite('access-control-allow-origin', '*'),
    ],
  });
}

function bucketPerAddress(
  name: string,
  bucket: { readonly tokens: number; readonly everySeconds: number; readonly burst: number },
): ConfigObject {
  const always = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  return {
    stat_prefix: name,
    filter_enabled: always,
    filter_enforced: always,
    // Used only by a request without an address, which does not exist.
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

function retryAfter(seconds: number): ConfigObject {
  return overwrite('retry-after', String(seconds));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
