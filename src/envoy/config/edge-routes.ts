import { modelsFilter, modelsLimit } from './rate-limits.ts';
import { typed } from './typed.ts';
import type { Json, JsonObject } from './typed.ts';

export const extprocFilter = 'weir.service';

/** Every path and method of the surface (docs/reference/api.md §4). Query strings do not matter. */
const served = [
  { method: { exact: 'POST' }, path: '/v1/chat/completions' },
  { method: { exact: 'POST' }, path: '/v1/messages' },
  { method: { safe_regex: { regex: 'GET|HEAD' } }, path: '/healthz' },
] as const;

/** Routes of the edge: the service answers what is in the contract, Envoy itself answers 404 to everything else. */
export function edgeRoutes(models: { readonly perMinute: number; readonly burst: number }): JsonObject {
  const catalog = { [modelsFilter]: modelsLimit(models) };
  return {
    name: 'edge',
    virtual_hosts: [
      {
        name: 'edge',
        domains: ['*'],
        routes: [
          // Two Host lines arrive joined; RFC 9112 §3.2 wants a 400.
          {
            match: { prefix: '/', headers: [{ name: ':authority', string_match: { contains: ',' } }] },
            direct_response: { status: 400 },
          },
          ...served.map(({ method, path }) => toService(method, path)),
          // With the preflight of browsers, in one route: each route would have a bucket of its own.
          toService({ safe_regex: { regex: 'GET|HEAD|OPTIONS' } }, '/v1/models', catalog),
          { match: { prefix: '/' }, direct_response: { status: 404 } },
          { match: { connect_matcher: {} }, direct_response: { status: 404 } },
        ],
      },
    ],
  };
}

/** The service's filter is off unless a route turns it on, so that nothing reaches the service by accident. */
function toService(method: JsonObject, path: string, perFilter: { readonly [name: string]: Json } = {}): JsonObject {
  return {
    match: { path, headers: [{ name: ':method', string_match: method }] },
    // The service answers inside the ext_proc filter, so no request gets this far; if one does, it was not answered.
    direct_response: { status: 503 },
    typed_per_filter_config: {
      [extprocFilter]: typed('envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute', { overrides: {} }),
      ...perFilter,
    },
  };
}
