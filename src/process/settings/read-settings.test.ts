import { describe, expect, it } from 'vitest';
import { readPortalSettings, readSettings, readSome, readStartSettings, readTracingSettings } from './read-settings.ts';
import { envoySettingsSchema, portalSettingsSchema, settingsSchema } from './settings.ts';

describe('settings', () => {
  it('have defaults for all that must be set, and say what each is', () => {
    expect(readSettings({ PATH: '/bin' })).toMatchObject({
      WEIR_OPS_PORT: 9090,
      WEIR_IDLE_SECONDS: 120,
      WEIR_LOG_LEVEL: 'info',
    });
    for (const schema of Object.values({ ...settingsSchema.shape, ...envoySettingsSchema.shape }))
      expect(schema.description).toMatch(/\.$/);
  });

  it('name who searches the web, and for how much', () => {
    expect(readSettings({ WEIR_WEB_SEARCH: 'brave:/run/keys/brave', WEIR_WEB_SEARCH_PRICE: '0.005' })).toMatchObject({
      WEIR_WEB_SEARCH: { provider: 'brave', keyFile: '/run/keys/brave' },
      WEIR_WEB_SEARCH_PRICE: 5_000_000_000n,
    });
    expect(readSettings({ WEIR_WEB_SEARCH: 'searxng:https://find.example/searx' }).WEIR_WEB_SEARCH).toEqual({
      ...{ provider: 'searxng', url: new URL('https://find.example/searx') },
    });
    expect(readSettings({})).toMatchObject({ WEIR_WEB_SEARCH_PRICE: 0n });
  });

  it('name the hosts of images', () => {
    expect(readSettings({}).WEIR_IMAGE_HOSTS).toBe('any');
    expect(readSettings({ WEIR_IMAGE_HOSTS: 'none' }).WEIR_IMAGE_HOSTS).toEqual([]);
    expect(readSettings({ WEIR_IMAGE_HOSTS: '*.example.org' }).WEIR_IMAGE_HOSTS).toEqual([
      { name: 'example.org', port: '', below: true },
    ]);
  });

  it('are read from their variables; empty means unset', () => {
    expect(readSettings({ WEIR_OPS_PORT: '0', WEIR_IDLE_SECONDS: '', WEIR_LOG_LEVEL: 'debug' })).toMatchObject({
      ...{ WEIR_OPS_PORT: 0, WEIR_IDLE_SECONDS: 120, WEIR_LOG_LEVEL: 'debug' },
    });
  });

  it.each<readonly [string, string]>([
    ['WEIR_OPS_PORT', '65536'],
    ['WEIR_OPS_PORT', '-1'],
    ['WEIR_OPS_PORT', '80.5'],
    ['WEIR_OPS_PORT', 'http'],
    ['WEIR_OPS_HOST', 'localhost'],
    ['WEIR_KUBERNETES_NAMESPACE', 'Weir'],
    ['WEIR_POD_NAME', 'pod_1'],
    ['WEIR_IDLE_SECONDS', '0'],
    ['WEIR_DRAIN_SECONDS', '1e3'],
    ['WEIR_LOG_LEVEL', 'loud'],
    ['WEIR_VALKEY_URL', 'localhost:6379'],
    ['WEIR_VALKEY_URL', 'http://localhost'],
    ['WEIR_VALKEY_URL', 'redis://'],
    ['WEIR_VALKEY_URL', 'redis://[secret'],
    ...['google', 'searxng', 'searxng:', 'searxng:find.example', 'searxng:ftp://find.example', 'brave:', 'Brave:/key']
      .concat(['searxng:http://user:secret@find.example', 'searxng:http://find.example/?q=x'])
      .map((value) => ['WEIR_WEB_SEARCH', value] as const),
    ...['free', '-1', '0.0000000000001', '11', '$1'].map((value) => ['WEIR_WEB_SEARCH_PRICE', value] as const),
    ...['*', 'https://images.example.com', 'none,', 'a b'].map((value) => ['WEIR_IMAGE_HOSTS', value] as const),
    ['WEIR_NO_SUCH_THING', 'x'],
    ['WEIR_toString', 'x'],
    ['WEIR_PORT', '8080'],
  ])('refuse %s=%s by name', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(new RegExp(`^${name}: .{5}`));
  });

  it.each([
    ...['redis://localhost', 'valkey://10.0.0.1:6380/2', 'rediss://user:secret@valkey.local:6379'],
    ...['valkeys://valkey', '/run/valkey.sock'],
  ])('take %s for Valkey', (url) => {
    expect(readSettings({ WEIR_VALKEY_URL: url }).WEIR_VALKEY_URL).toEqual({ kind: 'server', url });
  });

  it('do not repeat what may hold a password', () => {
    expect(() => readSettings({ WEIR_VALKEY_URL: 'http://user:secret@host' })).toThrow(/^(?!.*secret)WEIR_VALKEY_URL/);
  });

  it('name every bad one at once', () => {
    expect(() => readSettings({ WEIR_OPS_PORT: 'x', WEIR_LOG_LEVEL: 'y', WEIR_Z: 'z' })).toThrow(
      /WEIR_Z.*WEIR_OPS_PORT.*WEIR_LOG_LEVEL/,
    );
  });
});

describe('settings of the portal', () => {
  it('have defaults for all that must be set, and leave those of the service alone', () => {
    expect(readPortalSettings({ WEIR_OPS_PORT: 'no port' })).toMatchObject({
      ...{ WEIR_ADMIN_HOST: '127.0.0.1', WEIR_ADMIN_PORT: 9091, WEIR_ADMIN_TRUSTED_HOPS: 0 },
      WEIR_SERVICES: [new URL('http://127.0.0.1:9090')],
    });
    expect(readSettings({ WEIR_ADMIN_HOST: 'nowhere' })).toMatchObject({ WEIR_OPS_PORT: 9090 });
    for (const schema of Object.values(portalSettingsSchema.shape)) expect(schema.description).toMatch(/\.$/);
    expect(
      readPortalSettings({ WEIR_SERVICES: 'http://a:1, http://[::1]:2' }).WEIR_SERVICES.map(({ host }) => host),
    ).toEqual([...['a:1', '[::1]:2']]);
  });

  it.each([
    ['WEIR_ADMIN_HOST', 'localhost'],
    ['WEIR_ADMIN_PORT', '70000'],
    ['WEIR_ADMIN_TRUSTED_HOPS', '-1'],
    ['WEIR_SERVICES', 'a:1'],
    ['WEIR_SERVICES', 'http://a:1/path'],
    ['WEIR_PUBLIC_URL', 'models.example.com'],
    ['WEIR_ADMIN_TYPO', 'x'],
  ])('are refused by name: %s=%s', (name, value) => {
    expect(() => readPortalSettings({ [name]: value })).toThrow(name);
  });
});

describe('settings of weir start', () => {
  it('are those of the service and the portal, and its own; the ops port is out of the way of Prometheus', () => {
    const unset = readStartSettings({});
    expect(unset).toMatchObject({ WEIR_OPS_PORT: 9190, WEIR_ADMIN_PORT: 9091, WEIR_WATCHDOG_SECONDS: 15 });
    for (const name of ['WEIR_DATA', 'WEIR_MANIFESTS', 'WEIR_SERVICES']) expect(unset).not.toHaveProperty(name);
    expect(readStartSettings({ WEIR_OPS_PORT: '9090' })).toMatchObject({ WEIR_OPS_PORT: 9090 });
    expect(() => readStartSettings({ WEIR_ADMIN_PORT: 'x', WEIR_OPS_PORT: 'y' })).toThrow(
      /WEIR_ADMIN_PORT: .*; WEIR_OPS_PORT: /,
    );
    expect(() => readStartSettings({ WEIR_WATCHDOG_SECONDS: '15s' })).toThrow(
      'WEIR_WATCHDOG_SECONDS: expected a whole number from 0 to 9999, got "15s"',
    );
  });
});

describe('an unknown setting', () => {
  it.each([
    ['WEIR_OPSPORT', ' (Did you mean WEIR_OPS_PORT?)'],
    ['WEIR_LOGLEVEL', ' (Did you mean WEIR_LOG_LEVEL?)'],
    ['WEIR_ADMIN_PRT', ' (Did you mean WEIR_ADMIN_PORT?)'],
    ['WEIR_COMPLETELY_OTHER', ''],
  ])('is refused with the one that was meant: %s', (name, asked) => {
    const message = `${name}: there is no such setting${asked}`;
    for (const read of [readSettings, readPortalSettings, readStartSettings]) {
      expect(() => read({ [name]: '1' })).toThrow(new Error(message));
    }
  });

  it('is left alone by commands that read only some settings', () => {
    const schema = envoySettingsSchema.pick({ WEIR_TRUSTED_HOPS: true });
    expect(readSome({ WEIR_COMPLETELY_OTHER: '1', WEIR_TRUSTED_HOPS: '2' }, schema)).toEqual({ WEIR_TRUSTED_HOPS: 2 });
    expect(() => readSome({ WEIR_TRUSTED_HOPS: '-2' }, schema)).toThrow('WEIR_TRUSTED_HOPS: expected');
  });
});

/** What Kubernetes adds to each container of a namespace for a Service with one port. */
function serviceLinks(name: string): Readonly<Record<string, string>> {
  return {
    [`${name}_SERVICE_HOST`]: '10.96.0.7',
    [`${name}_SERVICE_PORT`]: '8080',
    [`${name}_SERVICE_PORT_HTTP`]: '8080',
    [`${name}_PORT`]: 'tcp://10.96.0.7:8080',
    [`${name}_PORT_8080_TCP`]: 'tcp://10.96.0.7:8080',
    [`${name}_PORT_8080_TCP_PROTO`]: 'tcp',
    [`${name}_PORT_8080_TCP_PORT`]: '8080',
    [`${name}_PORT_8080_TCP_ADDR`]: '10.96.0.7',
  };
}

describe('variables that Kubernetes adds for Services', () => {
  it.each(['WEIR', 'WEIR_PORTAL', 'WEIR_OPS', 'WEIR_ADMIN'])('are no settings: %s', (name) => {
    const links = serviceLinks(name);
    expect(readSettings(links)).toEqual(readSettings({}));
    expect(readPortalSettings(links)).toEqual(readPortalSettings({}));
    expect(readStartSettings(links)).toEqual(readStartSettings({}));
  });

  it('leave a setting of the same name alone where the operator has set it', () => {
    expect(readSettings({ ...serviceLinks('WEIR_OPS'), WEIR_OPS_PORT: '9400' })).toMatchObject({ WEIR_OPS_PORT: 9400 });
    expect(() => readSettings({ ...serviceLinks('WEIR_OPS'), WEIR_OPS_PORT: 'x' })).toThrow('WEIR_OPS_PORT: expected');
  });

  it('are known by their set, so that a mistyped setting of such a form is still refused', () => {
    const { WEIR_SERVICE_HOST: _, ...withoutHost } = serviceLinks('WEIR');
    for (const [name, value] of Object.entries(withoutHost)) {
      expect(() => readSettings({ [name]: value })).toThrow(`${name}: there is no such setting`);
    }
    expect(() => readSettings({ ...serviceLinks('WEIR'), WEIR_OPSPORT: '1' })).toThrow('WEIR_OPSPORT: ');
    expect(() => readSettings({ ...serviceLinks('WEIR'), WEIR_PORT: '8081' })).toThrow('WEIR_PORT: ');
  });
});

const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('tracing', () => {
  it.each([
    ['no endpoint is named', { OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'weir' }],
    ['the endpoint is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['only metrics have one', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' }],
    ['the SDK is disabled', { ...on, OTEL_SDK_DISABLED: 'True' }],
    ['traces have no exporter', { ...on, OTEL_TRACES_EXPORTER: 'none' }],
    // They may be meant for another program of the machine.
    ['there is no endpoint, whatever else is wrong', { OTEL_TRACES_SAMPLER: 'sometimes' }],
  ])('is off where %s', (_, environment) => {
    expect(readTracingSettings(environment)).toBeUndefined();
  });

  it('is on where an endpoint is named, with the defaults of OpenTelemetry', () => {
    const defaults = {
      protocol: 'http/protobuf',
      sampling: { followsCaller: true, ratio: 1 },
      batches: {},
    };
    expect(readTracingSettings(on)).toEqual(defaults);
    expect(readTracingSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' })).toEqual(defaults);
    expect(readTracingSettings({ ...on, OTEL_SDK_DISABLED: 'false' })).toEqual(defaults);
  });

  it('takes the variable of traces before that of all signals', () => {
    const both = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' };
    expect(readTracingSettings({ ...on, ...both })?.protocol).toBe('http/json');
    expect(readTracingSettings({ ...on, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.protocol).toBe('grpc');
  });

  it.each([
    ['always_on', '0.5', { followsCaller: false, ratio: 1 }],
    ['always_off', undefined, { followsCaller: false, ratio: 0 }],
    ['traceidratio', '0.25', { followsCaller: false, ratio: 0.25 }],
    ['parentbased_always_on', undefined, { followsCaller: true, ratio: 1 }],
    ['parentbased_always_off', undefined, { followsCaller: true, ratio: 0 }],
    ['parentbased_traceidratio', '.01', { followsCaller: true, ratio: 0.01 }],
    ['parentbased_traceidratio', undefined, { followsCaller: true, ratio: 1 }],
  ])('samples as %s with %s says', (sampler, argument, sampling) => {
    const variables = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    expect(readTracingSettings({ ...on, ...variables })?.sampling).toEqual(sampling);
  });

  it('reads how spans are batched', () => {
    const variables = {
      ...{ OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_BSP_MAX_QUEUE_SIZE: '64' },
      OTEL_PROPAGATORS: 'baggage, tracecontext',
    };
    expect(readTracingSettings({ ...on, ...variables })?.batches).toEqual({
      scheduledDelayMillis: 100,
      maxQueueSize: 64,
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_PROPAGATORS', 'b3'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ])('refuses %s=%s by the name of the variable and what was expected', (name, value) => {
    expect(() => readTracingSettings({ ...on, [name]: value })).toThrow(new RegExp(`^${name}: expected `));
  });

  it('takes an endpoint without a scheme for gRPC alone', () => {
    const bare = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' };
    expect(readTracingSettings({ ...bare, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.protocol).toBe('grpc');
    expect(() => readTracingSettings(bare)).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT: expected an address such as http://');
  });

  it('does not quote headers, which hold credentials', () => {
    expect(() => readTracingSettings({ ...on, OTEL_EXPORTER_OTLP_HEADERS: 'CANARY' })).not.toThrow('CANARY');
  });
});
