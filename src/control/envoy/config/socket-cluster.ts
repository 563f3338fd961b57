import { type ConfigObject, httpProtocol } from './typed.ts';

/**
 * A cluster for gRPC to Unix sockets whose paths do not change. If there are several sockets, Envoy may use any of
 * them. `http2`: options of the connections (`envoy.config.core.v3.Http2ProtocolOptions`).
 */
export function socketCluster(
  name: string,
  { sockets, http2 }: { readonly sockets: readonly string[]; readonly http2: ConfigObject },
): ConfigObject {
  return {
    name,
    connect_timeout: '1s',
    ...httpProtocol({ explicit_http_config: { http2_protocol_options: http2 } }),
    ...atSockets(name, sockets),
  };
}

/** The endpoints of a cluster that are Unix sockets. */
export function atSockets(cluster: string, sockets: readonly string[]): ConfigObject {
  const endpoints = sockets.map((path) => ({ endpoint: { address: { pipe: { path } } } }));
  return { type: 'STATIC', load_assignment: { cluster_name: cluster, endpoints: [{ lb_endpoints: endpoints }] } };
}
