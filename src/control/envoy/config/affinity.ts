import { extension } from './typed.ts';
import type { ConfigObject } from './typed.ts';

/** Request header with the digest of a conversation (`UpstreamCall.affinity`). Envoy removes it before the call leaves. */
export const affinityHeader = 'x-weir-affinity';

/** Key under which Envoy keeps the digest until it picks the endpoint. */
const stateKey = 'weir.affinity';

/**
 * Envoy 1.40 applies a route's `request_headers_to_remove` before it picks the endpoint, so that a header cannot be both
 * hashed and kept from the engine. This filter of the egress listener keeps a copy that never leaves Envoy.
 */
export const keepAffinity: ConfigObject = extension(
  stateKey,
  'envoy.extensions.filters.http.set_filter_state.v3.Config',
  {
    on_request_headers: [
      {
        object_key: stateKey,
        factory_key: 'envoy.hashable_string',
        format_string: {
          text_format_source: { inline_string: `%REQ(${affinityHeader})%` },
          omit_empty_values: true,
        },
        skip_if_empty: true,
      },
    ],
  },
);

/** The egress route's part: the value that is hashed. A call without a digest gets a random endpoint that has room. */
export const affinityHash: readonly ConfigObject[] = [{ filter_state: { key: stateKey } }];

/**
 * Most requests under way on one endpoint, in percent of its even share of all requests in this Envoy. With a lower
 * bound, a small unevenness would send a popular prompt away from its cache. With a higher bound, a popular prompt
 * would fill one endpoint while others idle.
 */
const maxOfEvenShare = 150;

/**
 * A cluster's part: consistent hashing, which depends on the addresses alone, so that every Envoy picks the same
 * endpoint. When an endpoint has reached the bound, the next one follows from the digest, too: a hot prompt always gets
 * the same second endpoint. Maglev, because Envoy's ring hash moves 13 % of the other endpoints' prompts when one of
 * four leaves: its points per endpoint depend on how many there are. Maglev moved 1 in 1,500. The table is 128 KiB a
 * cluster.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/intro/arch_overview/upstream/load_balancing/load_balancers#maglev
 */
export const affineBalancing: ConfigObject = { lb_policy: 'MAGLEV', maglev_lb_config: { table_size: 16_381 } };

/** Goes into the cluster's `common_lb_config`. */
export const affineBound: ConfigObject = { consistent_hashing_lb_config: { hash_balance_factor: maxOfEvenShare } };
