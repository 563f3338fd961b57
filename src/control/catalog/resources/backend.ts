import * as z from 'zod';
import { engineNames } from '../../../core/engine-name.ts';
import { credentials, eachOnce, headers, query, requests, timeouts } from './backend-requests.ts';
import { intOrString, resource, shaped, withRules } from './fields.ts';
import { configMapRef, keyPairRef, secretRef } from './secret.ts';

const hostText = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?$|^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*$/;
const hostExpected = 'expected a host name or an IP address, without scheme, port or path';

const host = shaped(z.string().min(1).max(253), hostText, hostExpected);

const path = shaped(
  z.string().max(512),
  /^(\/|(\/[A-Za-z0-9_~!$&'()*+,;=:@%-][A-Za-z0-9._~!$&'()*+,;=:@%-]*)*\/?)$/,
  'expected a path that begins with "/", without "." segments, query or fragment, such as "/v1"',
);

const hostPort = {
  host: host.meta({ description: 'Host name or IP address of the engine.', example: 'vllm-a.models.svc' }),
  port: z.int().min(1).max(65_535).meta({ description: 'TCP port of the engine, 1 to 65535.', example: 8000 }),
};

const endpoint = z.strictObject({
  ...hostPort,
  path: path.default('/v1').meta({
    description: 'URL prefix of /chat/completions. Default /v1; Weir ignores a trailing slash.',
    example: '/v1',
  }),
});

const endpoints = z
  .array(z.strictObject(hostPort))
  .min(1)
  .max(64)
  .superRefine(eachOnce(({ host: name, port }) => `${name} ${port}`, 'host and port'))
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['host', 'port'] });

// A port's name has at least one letter. A number in quotes has none.
const portName = /^([0-9][-0-9]*)?[a-z]([-a-z0-9]*[a-z0-9])?$/;

const servicePort = intOrString(
  { minimum: 1, maximum: 65_535, maxLength: 63, pattern: portName },
  'expected a whole number, 1 to 65535, or the name of a port: lowercase letters, digits and "-" with a letter among them',
);

const service = z.strictObject({
  name: shaped(
    z.string().min(1).max(63),
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'expected the name of a Service: lowercase letters, digits and "-", beginning and ending with a letter or digit',
  ).meta({ description: 'Name of a Service in the namespace of this object.', example: 'vllm-a' }),
  port: servicePort.meta({
    description:
      'One of the Service’s own ports, by name or number, as in an Ingress. The pods can listen on another port (targetPort).',
    example: 'http',
  }),
});

const inferencePool = z.strictObject({
  name: shaped(
    z.string().min(1).max(253),
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'expected the name of an InferencePool: lowercase letters, digits, "-" and ".", beginning and ending with a letter or digit',
  ).meta({ description: 'Name of an InferencePool in the namespace of this object.', example: 'vllm-qwen3-8b' }),
});

const tlsFields = z.strictObject({
  mode: z
    .enum(['Disabled', 'System', 'Custom', 'Off'])
    .default('Disabled')
    .meta({
      description:
        'Disabled: plain HTTP. System: TLS, verified against the system’s authorities. Custom: TLS, verified against caSecretRef or caConfigMapRef. ' +
        'Default Disabled. "Off" is the earlier spelling of Disabled; without quotes kubectl reads it as false.',
      example: 'System',
    }),
  caSecretRef: secretRef.optional().meta({
    description: 'PEM certificates of the authorities to trust. With mode Custom, this or caConfigMapRef is required.',
  }),
  caConfigMapRef: configMapRef.optional().meta({
    description: 'The same from a ConfigMap, such as a bundle of trust-manager.',
  }),
  clientCertificateSecretRef: keyPairRef.optional().meta({
    description:
      'Secret of the type kubernetes.io/tls with Weir’s client certificate for the engine (mTLS), in the keys tls.crt and tls.key. Default: none.',
  }),
  serverName: host.optional().meta({
    description:
      'Name to send (SNI) and to verify. Default: endpoint.host; required with endpoints, service and inferencePool.',
    example: 'engine.example.com',
  }),
});

const tls = withRules(tlsFields, [
  {
    field: ['caSecretRef'],
    reason: 'Required',
    message: 'required with tls.mode Custom, or caConfigMapRef',
    holds: ({ mode, caSecretRef, caConfigMapRef }) =>
      mode !== 'Custom' || caSecretRef !== undefined || caConfigMapRef !== undefined,
    cel: "self.mode != 'Custom' || has(self.caSecretRef) || has(self.caConfigMapRef)",
  },
  {
    field: ['caConfigMapRef'],
    reason: 'Forbidden',
    message: 'expected only one of caSecretRef and caConfigMapRef',
    holds: ({ caSecretRef, caConfigMapRef }) => caSecretRef === undefined || caConfigMapRef === undefined,
    cel: '!has(self.caSecretRef) || !has(self.caConfigMapRef)',
  },
  ...(['caSecretRef', 'caConfigMapRef'] as const).map((field) => ({
    field: [field],
    reason: 'Forbidden' as const,
    message: 'expected only with tls.mode Custom',
    holds: (tls: z.output<typeof tlsFields>) => tls.mode === 'Custom' || tls[field] === undefined,
    cel: `self.mode == 'Custom' || !has(self.${field})`,
  })),
  ...(['serverName', 'clientCertificateSecretRef'] as const).map((field) => ({
    field: [field],
    reason: 'Forbidden' as const,
    message: 'expected only with tls.mode System or Custom',
    holds: (tls: z.output<typeof tlsFields>) =>
      (tls.mode !== 'Disabled' && tls.mode !== 'Off') || tls[field] === undefined,
    cel: `!(self.mode in ['Disabled', 'Off']) || !has(self.${field})`,
  })),
]);

const healthCheck = z.strictObject({
  path: path.min(1).meta({
    description: 'Path that returns 200 without credentials while the engine works.',
    example: '/health',
  }),
  intervalSeconds: z
    .int()
    .min(1)
    .max(3600)
    .default(5)
    .meta({ description: 'Seconds between two checks, 1 to 3600. Default 5.', example: 5 }),
});

const proxy = z.strictObject({
  host: host.meta({ description: 'Host name or IP address of the proxy.', example: 'proxy.example.com' }),
  port: z.int().min(1).max(65_535).meta({ description: 'TCP port of the proxy, 1 to 65535.', example: 3128 }),
  credentials: z
    .strictObject({
      secretRef: secretRef.meta({ description: 'Secret with user:password, sent as Proxy-Authorization: Basic.' }),
    })
    .optional()
    .meta({ description: 'Credential that the proxy requires. Default: none.' }),
});

const specFields = z.strictObject({
  engine: z
    .enum(engineNames)
    .meta({ description: 'Kind of the engine; selects its table of wire format and capabilities.', example: 'vllm' }),
  endpoint: endpoint
    .optional()
    .meta({ description: 'Address of the engine. Every address of a host name is an endpoint.' }),
  endpoints: endpoints.optional().meta({
    description: 'Addresses of several copies of the engine. Every address of a host name is an endpoint.',
  }),
  service: service.optional().meta({
    description:
      'The Service whose pods run the engine. Every ready pod is an endpoint, from its EndpointSlices. Only if the catalog comes from Kubernetes.',
  }),
  inferencePool: inferencePool.optional().meta({
    description:
      'The InferencePool (inference.networking.k8s.io/v1, Gateway API Inference Extension) whose pods run the engine. Every target port of every ready pod is an endpoint. Weir does not use its endpoint picker. Only if the catalog comes from Kubernetes.',
  }),
  path: path.optional().meta({
    description:
      'With endpoints, service and inferencePool: URL prefix of /chat/completions. Default /v1; Weir ignores a trailing slash.',
    example: '/v1',
  }),
  tls: tls.prefault({}).meta({ description: 'TLS of the connection. Default: plain HTTP.' }),
  credentials: credentials.optional().meta({ description: 'Credential that the engine requires. Default: none.' }),
  headers: headers.optional().meta({ description: 'Further headers of each request. Default: none.' }),
  query: query.optional().meta({
    description: 'Query of each request’s URL, such as ?api-version=2024-10-21. Default: none.',
  }),
  host: shaped(
    z.string().min(1).max(320),
    /^[A-Za-z0-9._-]+(:[0-9]{1,5})?$/,
    'expected a host name, perhaps with a port, without scheme or path',
  )
    .optional()
    .meta({
      description:
        'Host header of each request and health check. The name for TLS is tls.serverName. Default: the host of the endpoint.',
      example: 'llm.example.com',
    }),
  proxy: proxy.optional().meta({
    description:
      'HTTP forward proxy that opens the connection to the engine (CONNECT). The proxy resolves the host of endpoint or endpoints. Default: none.',
  }),
  requests: requests
    .optional()
    .meta({ description: 'Defaults and bounds of requests, by the chat API’s field names.' }),
  timeouts: timeouts.optional().meta({ description: 'Maximum silence of the engine.' }),
  capacity: z
    .strictObject({
      maxConcurrentRequests: z.int().min(1).max(1_000_000).optional().meta({
        description:
          'Maximum number of concurrent requests of all endpoints together, 1 to 1000000. Default: no limit.',
        example: 64,
      }),
      maxConcurrentRequestsPerEndpoint: z.int().min(1).max(1_000_000).optional().meta({
        description: 'Maximum number of concurrent requests of each endpoint, 1 to 1000000. Default: no limit.',
        example: 8,
      }),
    })
    .optional()
    .meta({
      description:
        'Maximum number of concurrent requests. Weir skips a full backend or endpoint, and does not queue requests.',
    }),
  healthCheck: healthCheck
    .optional()
    .meta({ description: 'Active health check by Envoy, not through a proxy. Default: none.' }),
});

/** The `spec` of a Backend: serving capacity, one engine deployment behind one Envoy cluster. */
export const backendSpec = withRules(specFields, [
  {
    field: [],
    reason: 'Invalid',
    message: 'expected exactly one of endpoint, endpoints, service and inferencePool',
    holds: ({ endpoint: one, endpoints: several, service: followed, inferencePool: pool }) =>
      [one, several, followed, pool].filter((source) => source !== undefined).length === 1,
    cel: '(has(self.endpoint) ? 1 : 0) + (has(self.endpoints) ? 1 : 0) + (has(self.service) ? 1 : 0) + (has(self.inferencePool) ? 1 : 0) == 1',
  },
  {
    field: ['path'],
    reason: 'Forbidden',
    message: 'expected only with endpoints, service or inferencePool; with endpoint it is endpoint.path',
    holds: ({ endpoint: one, path: own }) => one === undefined || own === undefined,
    cel: '!has(self.endpoint) || !has(self.path)',
  },
  {
    field: ['tls', 'serverName'],
    reason: 'Required',
    message: 'required with TLS and endpoints, service or inferencePool: the engines need one name to verify',
    holds: ({ endpoint: one, tls: { mode, serverName } }) =>
      one !== undefined || mode === 'Disabled' || mode === 'Off' || serverName !== undefined,
    cel: "has(self.endpoint) || self.tls.mode in ['Disabled', 'Off'] || has(self.tls.serverName)",
  },
  {
    field: ['proxy'],
    reason: 'Forbidden',
    message: 'expected only with endpoint or endpoints',
    holds: ({ endpoint: one, endpoints: several, proxy: through }) =>
      through === undefined || one !== undefined || several !== undefined,
    cel: '!has(self.proxy) || has(self.endpoint) || has(self.endpoints)',
  },
  {
    field: ['healthCheck'],
    reason: 'Forbidden',
    message: 'expected only without proxy: Envoy cannot check through it, and the results of requests are used',
    holds: ({ healthCheck: check, proxy: through }) => check === undefined || through === undefined,
    cel: '!has(self.healthCheck) || !has(self.proxy)',
  },
]);
export type BackendSpec = z.output<typeof backendSpec>;

export const backendSchema = resource('Backend', backendSpec);
