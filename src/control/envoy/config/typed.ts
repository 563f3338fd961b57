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
