/**
 * The messages of the endpoint-picker protocol of the Gateway API Inference Extension, version 1.0.0:
 * https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/main/docs/proposals/004-endpoint-picker-protocol/README.md
 * They are messages of ext_proc, read and written by the codec of @grpc/proto-loader.
 */
import * as z from 'zod';

/** The namespace and the key of the endpoints from which a gateway lets the picker choose. */
const subsetNamespace = 'envoy.lb.subset_hint';
const subsetKey = 'x-gateway-destination-endpoint-subset';
/** The namespace of the picked endpoints, and of the endpoint that has answered. */
const endpointNamespace = 'envoy.lb';
/** The header, and the key in the metadata, of the picked endpoints. */
const endpointKey = 'x-gateway-destination-endpoint';
const servedKey = 'x-gateway-destination-endpoint-served';

/**
 * How Envoy sends a body (`BodySendMode`). The extension wants `full-duplex`. `buffered`: in one message. `streamed`: piece by piece, too
 * late to change the head. https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/filters/http/ext_proc/v3/processing_mode.proto
 */
export type BodyMode = 'none' | 'streamed' | 'buffered' | 'full-duplex';
/** By number. The fourth one is BUFFERED_PARTIAL: it has no more than fits. */
const bodyModes: readonly BodyMode[] = ['none', 'streamed', 'buffered', 'buffered', 'full-duplex'];

export type PickerMessage =
  | {
      readonly kind: 'request-headers';
      readonly headers: ReadonlyMap<string, string>;
      readonly endOfStream: boolean;
      /** Undefined: the gateway lets the picker choose from all endpoints. */
      readonly subset: readonly string[] | undefined;
      readonly modes: { readonly request: BodyMode; readonly response: BodyMode };
    }
  | {
      readonly kind: 'response-headers';
      readonly headers: ReadonlyMap<string, string>;
      readonly endOfStream: boolean;
      readonly served: string | undefined;
    }
  | { readonly kind: `${Direction}-body`; readonly body: Buffer; readonly endOfStream: boolean }
  | { readonly kind: `${Direction}-trailers` | 'other' };

export type Direction = 'request' | 'response';

const headersSchema = z.object({
  headers: z
    .object({
      headers: z
        .array(
          z.object({
            key: z.string().default(''),
            value: z.string().default(''),
            raw_value: z.instanceof(Buffer).optional(),
          }),
        )
        .default([]),
    })
    .default({ headers: [] }),
  end_of_stream: z.boolean().default(false),
});
const bodySchema = z.object({
  body: z.instanceof(Buffer).default(() => Buffer.alloc(0)),
  end_of_stream: z.boolean().default(false),
});
const trailersSchema = z.object({}).optional();
/** The two forms in which gateways give lists: one text with commas, as `header_to_metadata` makes it, and a list of texts. */
const textsSchema = z.object({
  string_value: z.string().optional(),
  list_value: z.object({ values: z.array(z.object({ string_value: z.string().default('') })).default([]) }).optional(),
});
const requestSchema = z.object({
  request_headers: headersSchema.optional(),
  response_headers: headersSchema.optional(),
  request_body: bodySchema.optional(),
  response_body: bodySchema.optional(),
  request_trailers: trailersSchema,
  response_trailers: trailersSchema,
  metadata_context: z
    .object({
      filter_metadata: z
        .record(z.string(), z.object({ fields: z.record(z.string(), textsSchema).default({}) }))
        .default({}),
    })
    .optional(),
  protocol_config: z
    .object({ request_body_mode: z.number().default(0), response_body_mode: z.number().default(0) })
    .optional(),
});
type RawRequest = z.output<typeof requestSchema>;

/** Interprets a message that the codec has read. Throws if it is no ProcessingRequest. */
export function readPickerMessage(raw: unknown): PickerMessage {
  const message = requestSchema.parse(raw);
  if (message.request_headers !== undefined) {
    const { protocol_config: protocol } = message;
    return {
      kind: 'request-headers',
      ...readHeaders(message.request_headers),
      subset: textsIn(message, subsetNamespace, subsetKey),
      modes: { request: modeOf(protocol?.request_body_mode), response: modeOf(protocol?.response_body_mode) },
    };
  }
  if (message.response_headers !== undefined) {
    const served = textsIn(message, endpointNamespace, servedKey)?.[0];
    return { kind: 'response-headers', ...readHeaders(message.response_headers), served };
  }
  for (const direction of ['request', 'response'] as const) {
    const body = message[`${direction}_body`];
    if (body !== undefined) return { kind: `${direction}-body`, body: body.body, endOfStream: body.end_of_stream };
    if (message[`${direction}_trailers`] !== undefined) return { kind: `${direction}-trailers` };
  }
  return { kind: 'other' };
}

/** An older Envoy, which does not say how it sends bodies, is taken to send them as the extension wants. */
const modeOf = (mode: number | undefined): BodyMode =>
  mode === undefined ? 'full-duplex' : (bodyModes[mode] ?? 'full-duplex');

function readHeaders({ headers: { headers }, end_of_stream: endOfStream }: z.output<typeof headersSchema>): {
  readonly headers: ReadonlyMap<string, string>;
  readonly endOfStream: boolean;
} {
  const read = new Map<string, string>();
  for (const { key, value, raw_value: raw } of headers) {
    if (!read.has(key)) read.set(key, raw?.toString('latin1') ?? value);
  }
  return { headers: read, endOfStream };
}

/** The texts under a key of the metadata; undefined: there is no such key. */
function textsIn(message: RawRequest, namespace: string, key: string): readonly string[] | undefined {
  const value = message.metadata_context?.filter_metadata[namespace]?.fields[key];
  if (value === undefined) return undefined;
  const texts = [value.string_value ?? '', ...(value.list_value?.values ?? []).map((one) => one.string_value)];
  return texts.flatMap((text) => text.split(',')).flatMap((part) => part.trim() || []);
}

/** A value of `append_action`: OVERWRITE_IF_EXISTS_OR_ADD. A caller cannot name the endpoint itself. */
const overwrite = 2;

/** The picked endpoints, as the change of the request's head and as the metadata beside it. Both have the same value. */
function pickedEndpoints(endpoints: readonly string[]): { readonly common: object; readonly metadata: object } {
  const value = endpoints.join(',');
  const header = { key: endpointKey, raw_value: Buffer.from(value) };
  const inner = { fields: { [endpointKey]: { string_value: value } } };
  return {
    // A route may match the header, so it is chosen again.
    common: { header_mutation: { set_headers: [{ header, append_action: overwrite }] }, clear_route_cache: true },
    metadata: { fields: { [endpointNamespace]: { struct_value: inner } } },
  };
}

/** The answer to a head. `endpoints`: they are added to the head of the request. */
export function headersResponse(direction: Direction, endpoints?: readonly string[]): object {
  if (endpoints === undefined) return { [`${direction}_headers`]: {} };
  const { common, metadata } = pickedEndpoints(endpoints);
  return { request_headers: { response: common }, dynamic_metadata: metadata };
}

/** The answer to a piece of a body that goes on unchanged. `endpoints`: they are added to the head, which has waited for the body. */
export function bodyResponse(direction: Direction, endpoints?: readonly string[]): object {
  if (endpoints === undefined) return { [`${direction}_body`]: {} };
  const { common, metadata } = pickedEndpoints(endpoints);
  return { request_body: { response: common }, dynamic_metadata: metadata };
}

/** A piece of a body that Envoy has handed over altogether (FULL_DUPLEX_STREAMED). */
export function streamedBody(direction: Direction, body: Uint8Array, endOfStream: boolean): object {
  const streamed = { body, end_of_stream: endOfStream };
  return { [`${direction}_body`]: { response: { body_mutation: { streamed_response: streamed } } } };
}

export const trailersResponse = (direction: Direction): object => ({ [`${direction}_trailers`]: {} });
