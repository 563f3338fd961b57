import { describe, expect, it, test } from 'vitest';
import { endpointsOf, readService, readSlice, type Service } from './endpoint-slices.ts';

const unknown = new Map<string, never>();

type Conditions = { readonly ready?: boolean | null; readonly serving?: boolean; readonly terminating?: boolean };

const pod = (address: string, conditions?: Conditions, zone?: string) => ({
  addresses: [address],
  ...(conditions && { conditions }),
  ...(zone !== undefined && { zone }),
});
const going = { ready: false, serving: true, terminating: true };
const gone = { ready: false, serving: false, terminating: true };

let version = 0;
function slice(endpoints: readonly object[] | undefined, fields: object = {}) {
  version += 1;
  const raw = {
    metadata: {
      name: `slice-${version}`,
      resourceVersion: String(version),
      labels: { 'kubernetes.io/service-name': 'vllm' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8000, protocol: 'TCP' }],
    endpoints,
    ...fields,
  };
  return readSlice(raw, unknown).item;
}

function service(spec: object = {}): Service {
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
  return readService({ metadata: { name: 'vllm', resourceVersion: '1' }, spec: { ports, ...spec } }, unknown).item;
}

interface Facts {
  readonly port?: number | string;
  readonly scheme?: 'http' | 'https';
  readonly of?: Service | undefined;
}

const find = (slices: readonly ReturnType<typeof slice>[], { port = 'http', scheme = 'http', ...facts }: Facts = {}) =>
  endpointsOf({
    ...{ source: { kind: 'service', service: 'vllm', port }, scheme, namespace: 'models', slices },
    service: 'of' in facts ? facts.of : service(),
  });
const names = (...args: Parameters<typeof find>): readonly string[] => find(...args).endpoints.map(({ name }) => name);

test('an endpoint is a pod’s address with the pod’s port, under the name of the Service', () => {
  expect(find([slice([pod('10.0.0.1', { ready: true }, 'eu-1a')])])).toEqual({
    endpoints: [
      { name: '10.0.0.1:8000', address: '10.0.0.1', port: 8000, authority: 'vllm.models.svc', zone: 'eu-1a' },
    ],
    trouble: undefined,
  });
});

describe('the pods of a Service', () => {
  it('come from all of its slices, each once, in the order of their names', () => {
    const [one, two] = [slice([pod('10.0.0.3'), pod('10.0.0.1')]), slice([pod('10.0.0.2'), pod('10.0.0.1')])];
    const expected = ['10.0.0.1:8000', '10.0.0.2:8000', '10.0.0.3:8000'];
    expect(names([one, two])).toEqual(expected);
    expect(names([two, one])).toEqual(expected);
  });

  it('count once where one has several addresses', () => {
    expect(names([slice([{ addresses: ['10.0.0.1', '10.0.0.2'] }])])).toEqual(['10.0.0.1:8000']);
  });

  test.each<readonly [string, Conditions | undefined, boolean]>([
    ['no conditions', undefined, true],
    ['no word on readiness', { ready: null }, true],
    ['ready', { ready: true, serving: true, terminating: false }, true],
    ['not ready', { ready: false, serving: false }, false],
    ['terminating', going, false],
    ['terminating and published as ready all the same', { ready: true, serving: true, terminating: true }, false],
  ])('take new requests or not, with %s', (_about, conditions, takes) => {
    expect(names([slice([pod('10.0.0.1', conditions), pod('10.0.0.9')])]).includes('10.0.0.1:8000')).toBe(takes);
  });

  it('take requests while they end if no other is ready, as long as they serve', () => {
    expect(
      names([slice([pod('10.0.0.1', going), pod('10.0.0.2', gone)]), slice([pod('10.0.0.3', { ready: false })])]),
    ).toEqual(['10.0.0.1:8000']);
  });

  it('are ready where one slice says so and another, which lags, does not', () => {
    expect(names([slice([pod('10.0.0.1', going)]), slice([pod('10.0.0.1')])])).toEqual(['10.0.0.1:8000']);
  });
});

describe('the family of addresses', () => {
  const six = slice([pod('fd00::1')], { addressType: 'IPv6' });

  it('is IPv4 where a Service has both, so that a pod is one endpoint', () => {
    expect(names([six, slice([pod('10.0.0.1')])])).toEqual(['10.0.0.1:8000']);
  });

  it('stays IPv4 while the last pod leaves one slice before the other', () => {
    expect(names([six, slice([])])).toEqual([]);
  });

  it('is IPv6 where there is nothing else, in the spelling of Envoy', () => {
    const long = slice([pod('FD00:0:0::2')], { addressType: 'IPv6' });
    expect(find([six, long]).endpoints).toMatchObject([
      { name: '[fd00::1]:8000', address: 'fd00::1' },
      { name: '[fd00::2]:8000', address: 'fd00::2' },
    ]);
  });
});

describe('the port', () => {
  const two = [
    { name: 'http', port: 80, targetPort: 'web' },
    { name: 'metrics', port: 9000, protocol: 'TCP' },
    { name: 'gossip', port: 80, protocol: 'UDP' },
  ];
  const of = service({ ports: two });
  const ports = [
    { name: 'metrics', port: 9090 },
    { name: 'gossip', port: 7000, protocol: 'UDP' },
    { name: 'http', port: 8000 },
  ];

  test.each<readonly [string, number | string, string, string]>([
    ['a name', 'metrics', '10.0.0.1:9090', 'vllm.models.svc:9000'],
    ['the number of the Service’s own', 80, '10.0.0.1:8000', 'vllm.models.svc'],
    ['another number', 9000, '10.0.0.1:9090', 'vllm.models.svc:9000'],
  ])('is found by %s, and the Host header has the Service’s own', (_about, port, name, authority) => {
    expect(find([slice([pod('10.0.0.1')], { ports })], { port, of }).endpoints).toMatchObject([{ name, authority }]);
  });

  it('may differ from slice to slice, as a named targetPort can', () => {
    const other = slice([pod('10.0.0.2')], { ports: [{ name: 'http', port: 8080 }] });
    expect(names([slice([pod('10.0.0.1')]), other])).toEqual(['10.0.0.1:8000', '10.0.0.2:8080']);
  });

  it('needs no name where the Service has one port without a name', () => {
    const ports = [{ name: '', port: 8000 }];
    const nameless = service({ ports: [{ port: 80 }] });
    expect(names([slice([pod('10.0.0.1')], { ports })], { port: 80, of: nameless })).toEqual(['10.0.0.1:8000']);
  });

  it('is the pods’ own where a headless Service has none', () => {
    const headless = service({ clusterIP: 'None', ports: undefined });
    expect(names([slice([pod('10.0.0.1')], { ports: null })], { port: 8000, of: headless })).toEqual(['10.0.0.1:8000']);
  });

  it('is found by its name while Services cannot be read', () => {
    expect(find([slice([pod('10.0.0.1')])], { of: undefined }).endpoints).toMatchObject([
      { name: '10.0.0.1:8000', authority: 'vllm.models.svc:8000' },
    ]);
  });

  it('is left out of the Host header where it is that of the scheme', () => {
    const https = service({ ports: [{ name: 'https', port: 443 }] });
    const ports443 = [{ name: 'https', port: 8443 }];
    const options = { port: 'https', scheme: 'https', of: https } as const;
    expect(find([slice([pod('10.0.0.1')], { ports: ports443 })], options).endpoints).toMatchObject([
      { authority: 'vllm.models.svc' },
    ]);
  });
});

describe('a Service without endpoints', () => {
  const metrics = service({ ports: [{ name: 'http', port: 80 }, { port: 9000 }] });
  const empty = slice(undefined, { ports: null });
  const hosts = slice([{ addresses: ['engine.example'] }], { addressType: 'FQDN' });

  test.each<readonly [string, Parameters<typeof find>, string]>([
    ['does not exist', [[], { of: undefined }], 'spec.service.name: there is no Service "vllm"'],
    [
      'has no port of that number',
      [[slice([pod('10.0.0.1')])], { port: 8000, of: metrics }],
      'spec.service.port: Service "vllm" has no TCP port 8000; it has 80 (http), 9000',
    ],
    [
      'has no port of that name',
      [[slice([pod('10.0.0.1')])], { port: 'grpc', of: metrics }],
      'spec.service.port: Service "vllm" has no TCP port grpc; it has 80 (http), 9000',
    ],
    [
      'is a name for another host',
      [[], { of: service({ type: 'ExternalName', externalName: 'engine.example', ports: undefined }) }],
      'spec.service.name: Service "vllm" is an ExternalName, which has no pods; write its host "engine.example" in endpoint.host',
    ],
    ['is new', [[]], 'spec.service: Service "vllm" has no EndpointSlice yet'],
    ['has no pods', [[empty]], 'spec.service: no pod of Service "vllm" is ready; it has no pods'],
    [
      'has pods that are not ready',
      [[slice([pod('10.0.0.1', { ready: false })])]],
      'spec.service: no pod of Service "vllm" is ready',
    ],
    [
      'has slices made by hand with another port',
      [[slice([pod('10.0.0.1')], { ports: [{ name: 'web', port: 8000 }] })]],
      'spec.service.port: no EndpointSlice of Service "vllm" has port http',
    ],
    [
      'has slices with host names',
      [[hosts]],
      `spec.service: EndpointSlice "${hosts.name}" has host names, which are not followed; write them in endpoints`,
    ],
  ])('says that it %s', (_about, args, trouble) => {
    expect(find(...args)).toEqual({ endpoints: [], trouble });
  });
});

it('keeps what it knows of an object that has no other version', () => {
  const raw = { metadata: { name: 'a', resourceVersion: '7' }, addressType: 'IPv4', endpoints: [pod('10.0.0.1')] };
  const first = readSlice(raw, unknown).item;
  expect(readSlice(raw, new Map([['a', first]])).item).toBe(first);
  expect(readSlice({ ...raw, metadata: { name: 'a', resourceVersion: '8' } }, new Map([['a', first]])).item).not.toBe(
    first,
  );
});
