import { answerPaths, maxShownPathLength, nothingAt, type ServedApi } from '../../../core/api-paths.ts';
import { type Json, type ConfigObject, typed } from './typed.ts';
import type { ErrorType } from '../../../core/failure.ts';

interface OwnReply {
  /** Statuses Envoy would send. */
  readonly from: readonly number[];
  /** Status in the API for them (docs/reference/api.md §7.1). */
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

const rejected = { status: 400, type: 'invalid_request_error' } as const;

/** Every status that Envoy sends by itself, and what the caller gets instead. 500 and 504 never reach a caller. */
const repliesFor = (served: ServedApi): readonly OwnReply[] => [
  {
    from: [404],
    status: 404,
    type: 'invalid_request_error',
    // The path without its query, which may hold a secret. Envoy escapes the path for JSON.
    message: nothingAt(`%REQ(:METHOD)% %PATH(NQ:PATH):${maxShownPathLength}%`, served),
  },
  {
    from: [429],
    status: 429,
    type: 'service_error',
    message: 'Too many requests from this address. Wait for the time in the Retry-After header.',
  },
  { from: [408], ...rejected, message: 'The request was not received in time.' },
  { from: [426, 505], ...rejected, message: 'HTTP/1.1 or HTTP/2 is required.' },
  {
    from: [431],
    ...rejected,
    message: 'The request headers or the address are too long, or there are too many of them.',
  },
  { from: [501], ...rejected, message: 'The request uses a transfer coding or an upgrade that is not supported.' },
];

/** Clients of the responses surface first try a WebSocket. They go on with POST at once after this status. */
const useHttp: OwnReply = {
  from: [],
  status: 426,
  type: 'invalid_request_error',
  message: `There is no WebSocket here: send POST ${answerPaths.responses}.`,
  // A 426 has to name the protocol that serves the request (RFC 9110 §15.5.22, §7.8): HTTP itself.
  headers: [
    ['upgrade', 'HTTP/1.1'],
    ['connection', 'Upgrade'],
  ],
};

const noUpgrade = (served: ServedApi): OwnReply => ({
  from: [],
  status: 404,
  type: 'invalid_request_error',
  message: nothingAt('an upgraded connection', served),
});

const underscore: OwnReply = {
  from: [],
  ...rejected,
  message: 'The name of a request header has an underscore. Send a hyphen in its place.',
};

const malformed: OwnReply = { from: [], ...rejected, message: 'The request is not well-formed HTTP.' };

const away: OwnReply = {
  from: [],
  status: 503,
  type: 'service_error',
  message: 'The service cannot take this request right now. It is safe to retry.',
};

/** The one error without the API's envelope (docs/reference/api.md §7.1). */
const tooLarge: ConfigObject = {
  filter: statusIs('EQ', 413),
  status_code: 413,
  body_format_override: {
    text_format_source: { inline_string: 'The request body is larger than 32 MB.\n' },
    content_type: 'text/plain; charset=utf-8',
  },
};

/** The text that the service writes into an ImmediateResponse's `details`. */
const serviceDetails = 'weir';

/**
 * An answer that the service sends as a whole also counts as a local reply in Envoy. It needs no change: this mapper
 * matches it first and does not modify it.
 */
const fromService: ConfigObject = { filter: detailsAre(serviceDetails) };

/** Gives every reply that Envoy makes by itself at the edge the envelope of the API. The first mapper that matches wins. */
export function ownReplies(served: ServedApi): ConfigObject {
  return {
    mappers: [
      fromService,
      tooLarge,
      ...(served.surfaces.includes('responses')
        ? mappers({ and_filter: { filters: [upgradeRefused, onResponses] } }, useHttp)
        : []),
      ...mappers(upgradeRefused, noUpgrade(served)),
      ...mappers(detailsAre('http1.unexpected_underscore'), underscore),
      ...repliesFor(served).flatMap((reply) => reply.from.flatMap((status) => mappers(statusIs('EQ', status), reply))),
      ...mappers(statusIs('GE', 500), away),
      ...mappers(statusIs('GE', 400), malformed),
    ],
  };
}

/** Envoy refuses every upgrade, CONNECT included, before it looks for a route. */
const upgradeRefused: ConfigObject = detailsAre('upgrade_failed');

const onResponses: ConfigObject = {
  header_filter: {
    header: { name: ':path', string_match: { safe_regex: { regex: `${answerPaths.responses}([?].*)?` } } },
  },
};

/** Clients of the messages surface recognise an error by its `type` field. A request whose path could not be read has no surface. */
const onMessages: ConfigObject = {
  header_filter: { header: { name: ':path', string_match: { safe_regex: { regex: '/v1/messages([/?].*)?' } } } },
};

/** Clients of the messages surface read the id of a request from the header `request-id`. */
const requestId = ['request-id', '%REQ(X-REQUEST-ID)%'] as const;

const headersToAdd = (headers: OwnReply['headers'] = []): Readonly<Record<string, Json>> =>
  headers.length === 0 ? {} : { headers_to_add: headers.map(([key, value]) => ({ header: { key, value } })) };

/** One mapper for the messages surface, and one for everything else. */
function mappers(filter: Json, { status, message, type, headers = [] }: OwnReply): readonly ConfigObject[] {
  const error = { message, type };
  const both = { and_filter: { filters: [filter, onMessages] } };
  return [
    {
      filter: both,
      status_code: status,
      body_format_override: { json_format: { type: 'error', error } },
      ...headersToAdd([requestId, ...headers]),
    },
    { filter, status_code: status, body_format_override: { json_format: { error } }, ...headersToAdd(headers) },
  ];
}

/** Envoy's reason for a reply, or the service's. */
function detailsAre(details: string): ConfigObject {
  return {
    extension_filter: {
      name: 'envoy.access_loggers.extension_filters.cel',
      typed_config: typed('envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter', {
        expression: `response.code_details == '${details}'`,
      }),
    },
  };
}

function statusIs(op: 'EQ' | 'GE', status: number): ConfigObject {
  // Envoy demands a runtime key. It is never set.
  return {
    status_code_filter: {
      comparison: { op, value: { default_value: status, runtime_key: `weir.own_reply.${op}.${status}` } },
    },
  };
}
