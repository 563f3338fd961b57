/** Envoy's configuration as JSON (proto3 JSON mapping, snake_case names). */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type ConfigObject = { readonly [key: string]: Json };

/** A `google.protobuf.Any` in its JSON form. */
export function typed(message: string, fields: ConfigObject): ConfigObject {
  return { '@type': `type.googleapis.com/${message}`, ...fields };
}

/** One extension of Envoy: its registered name and its typed configuration. */
export function extension(name: string, message: string, fields: ConfigObject = {}): ConfigObject {
  return { name, typed_config: typed(message, fields) };
}

/** A header that replaces one of the same name. */
export function overwrite(key: string, value: string): ConfigObject {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}

/** The filter of a listener for HTTP. Its last HTTP filter is the router. */
export function connectionManager({ http_filters: filters, ...fields }: HttpFields): ConfigObject {
  const router = extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {
    suppress_envoy_headers: true,
  });
  return extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    { ...fields, http_filters: [...filters, router] },
  );
}

interface HttpFields {
  readonly [key: string]: Json;
  readonly http_filters: readonly ConfigObject[];
}

/** The part of a cluster with the options of its connections. */
export function httpProtocol(options: ConfigObject): ConfigObject {
  const name = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  return { typed_extension_protocol_options: { [name]: typed(name, options) } };
}
