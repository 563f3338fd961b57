import { describe, expect, it } from 'vitest';
import { portalSettingsSchema, readPortalSettings, readSettings, settingsSchema } from './settings.ts';

describe('settings', () => {
  it('have defaults for all that must be set, and say what each is', () => {
    expect(readSettings({ PATH: '/bin' })).toMatchObject({
      WEIR_OPS_PORT: 9090,
      WEIR_IDLE_SECONDS: 120,
      WEIR_LOG_LEVEL: 'info',
    });
    for (const schema of Object.values(settingsSchema.shape)) expect(schema.description).toMatch(/\.$/);
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
