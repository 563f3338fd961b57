import { type ConfigObject, typed } from './typed.ts';

/**
 * A cluster for gRPC to Unix sockets whose paths do not change. If there are several sockets, Envoy may use any of
 * them. `http2`: options of the connections (`envoy.config.core.v3.Http2ProtocolOptions`).
 */
export function socketCluster(
  name: string,
  { sockets, http2 }: { readonly sockets: readonly string[]; readonly http2: ConfigObject },
): ConfigObject {
  const protocolOptions = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  return {
    name,
    type: 'STATIC',
    connect_timeout: '1s',
    typed_extension_protocol_options: {
      [protocolOptions]: typed(protocolOptions, { explicit_http_config: { http2_protocol_options: http2 } }),
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: sockets.map((path) => ({ endpoint: { address: { pipe: { path } } } })) }],
    },
  };
}
