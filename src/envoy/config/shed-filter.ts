import { extension } from './typed.ts';
import type { JsonObject } from './typed.ts';

const never: JsonObject = { numerator: 0, denominator: 'HUNDRED' };

/**
 * Refuses a share of the requests for answers with 503 before the service hears of them. The service sets the share through
 * the admin interface (`/runtime_modify`) with the two runtime keys, `weir.shed.percent` and, while that is above 0,
 * `weir.shed.hold=100`.
 *
 * It holds a request for a millisecond first: by then its body is there, and the connection is kept. A reply at once would
 * close it, as HTTP/1.1 demands of an answer to a request that is still being received, and a flood would be one of
 * handshakes, too.
 */
export const shedFilter: JsonObject = extension('weir.shed', 'envoy.extensions.filters.http.fault.v3.HTTPFault', {
  headers: [{ name: ':method', string_match: { exact: 'POST' } }],
  delay: { fixed_delay: '0.001s', percentage: never },
  delay_percent_runtime: 'weir.shed.hold',
  abort: { http_status: 503, percentage: never },
  abort_percent_runtime: 'weir.shed.percent',
  disable_downstream_cluster_stats: true,
});
