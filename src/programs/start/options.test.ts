import { expect, test } from 'vitest';
import { readStartOptions, startHelp } from './options.ts';

test('without arguments it is the demo on port 8080 with its data in .weir', () => {
  const options = readStartOptions([], {});
  expect(options).toMatchObject({ port: 8080, demo: true, dataFlag: '', source: { kind: 'demo' } });
  expect(options?.data).toBe(`${process.cwd()}/.weir`);
});

test('a folder of manifests takes the place of the demo engine, not of the demo key', () => {
  const options = readStartOptions(['--manifests', '/m', '--port', '0', '--data', '/d'], {});
  expect(options).toEqual({
    port: 0,
    data: '/d',
    database: { kind: 'sqlite', file: '/d/weir.db' },
    dataFlag: " --data '/d'",
    demo: true,
    portal: true,
    source: { kind: 'manifests', folder: '/m' },
    silenceMs: 15_000,
    replicas: 1,
    settings: expect.objectContaining({ WEIR_OPS_PORT: 9190 }),
  });
});

test('the accounts are where WEIR_DATABASE_URL says, for the other commands too', () => {
  const url = 'postgres://weir@db/weir';
  expect(readStartOptions(['--data', '/d'], { WEIR_DATABASE_URL: url })).toMatchObject({
    ...{ data: '/d', dataFlag: '', database: { kind: 'postgres', url } },
  });
  expect(() => readStartOptions([], { WEIR_DATABASE_URL: 'mysql://db' })).toThrow('WEIR_DATABASE_URL');
});

test('paths typed to npm are meant from where they were typed', () => {
  const env = { npm_lifecycle_event: 'start', INIT_CWD: '/home/me' };
  expect(readStartOptions(['--manifests', 'm'], env)?.source).toEqual({ kind: 'manifests', folder: '/home/me/m' });
  expect(readStartOptions([], env)?.data).toBe(`${process.cwd()}/.weir`);
});

test('an upstream costs nothing unless a price is given', () => {
  const free = readStartOptions(['--upstream', 'http://127.0.0.1:1/v1'], {});
  expect(free?.source).toMatchObject({ kind: 'upstream', price: { prompt: '0', completion: '0' } });
  const priced = readStartOptions(['--upstream=127.0.0.1:1', '--price=0.0000001,0.0000004'], {
    WEIR_UPSTREAM_KEY: 'k',
  });
  expect(priced?.source).toMatchObject({ key: 'k', price: { prompt: '0.0000001', completion: '0.0000004' } });
  expect(priced?.source.kind === 'upstream' && priced.source.url.href).toBe('http://127.0.0.1:1/');
});

test('the watchdog waits fifteen seconds by default', () => {
  expect(readStartOptions([], { WEIR_WATCHDOG_SECONDS: '' })?.silenceMs).toBe(15_000);
  expect(readStartOptions([], { WEIR_WATCHDOG_SECONDS: '0' })?.silenceMs).toBe(0);
  expect(() => readStartOptions([], { WEIR_WATCHDOG_SECONDS: '15s' })).toThrow('WEIR_WATCHDOG_SECONDS: expected');
});

const shared = { WEIR_DATABASE_URL: 'postgres://weir@db/weir', WEIR_VALKEY_URL: 'valkey://cache:6379' };

test('several services share accounts and limits', () => {
  expect(readStartOptions(['--replicas', '3'], shared)?.replicas).toBe(3);
  expect(readStartOptions(['--replicas', '1'], {})?.replicas).toBe(1);
});

test('reads the third surface from its flag or its setting', () => {
  const responses = (argv: readonly string[], env: Readonly<Record<string, string>>) =>
    readStartOptions(argv, env)?.settings.WEIR_RESPONSES;
  expect(responses([], {})).toBe('off');
  expect(responses(['--responses'], {})).toBe('stateless');
  expect(responses([], { WEIR_RESPONSES: 'stateless' })).toBe('stateless');
  expect(responses(['--responses'], { WEIR_RESPONSES: 'off' })).toBe('stateless');
});

test.each([
  ['0', shared, '--replicas: expected a whole number from 1 to 64, got "0"'],
  ['65', shared, '--replicas: expected'],
  ['two', shared, '--replicas: expected'],
  ['2', { ...shared, WEIR_DATABASE_URL: '' }, 'WEIR_DATABASE_URL: --replicas 2 needs PostgreSQL'],
  ['2', { ...shared, WEIR_DATABASE_URL: 'sqlite:weir.db' }, 'WEIR_DATABASE_URL: --replicas 2 needs PostgreSQL'],
  ['2', { ...shared, WEIR_VALKEY_URL: '' }, 'WEIR_VALKEY_URL: --replicas 2 needs Valkey'],
])('--replicas %s with %j is refused by name', (replicas, env, words) => {
  expect(() => readStartOptions(['--replicas', replicas], env)).toThrow(words);
});

test('settings stand where flags are missing', () => {
  const at = (env: Readonly<Record<string, string>>, ...argv: readonly string[]) => readStartOptions(argv, env);
  expect(at({ WEIR_DATA: '/d' })).toMatchObject({ data: '/d', dataFlag: " --data '/d'" });
  expect(at({ WEIR_DATA: '/d' }, '--data', '/e')).toMatchObject({ data: '/e' });
  expect(at({ WEIR_MANIFESTS: '/m' })?.source).toEqual({ kind: 'manifests', folder: '/m' });
  expect(at({ WEIR_MANIFESTS: '/m' }, '--manifests', '/n')?.source).toEqual({ kind: 'manifests', folder: '/n' });
  expect(at({ WEIR_MANIFESTS: '/m' }, '--upstream', 'u:1')?.source.kind).toBe('upstream');
  expect(at({ WEIR_KUBERNETES_NAMESPACE: 'a' })?.source).toEqual({ kind: 'kubernetes', namespace: 'a' });
  expect(at({ WEIR_KUBERNETES_NAMESPACE: 'a' }, '--kubernetes')?.source).toEqual({
    kind: 'kubernetes',
    namespace: 'a',
  });
  expect(at({ WEIR_KUBERNETES_NAMESPACE: 'a' }, '--manifests', '/n')?.source.kind).toBe('manifests');
  expect(at({ WEIR_OPS_PORT: '9500' })?.settings).toMatchObject({ WEIR_OPS_PORT: 9500 });
});

test.each(['--manifest', '--manifset'])('%s is refused with the flag that was meant', (flag) => {
  expect(() => readStartOptions([flag, 'm'], {})).toThrow(
    `Unknown option '${flag}' (Did you mean --manifests?). \`weir start --help\` lists the options.`,
  );
});

test.each([
  ['command_malformed', ['--manifest', 'm'], {}],
  ['option_malformed', ['--port', 'x'], {}],
  ['option_malformed', ['--replicas', '0'], {}],
  ['option_malformed', ['--kubernetes', '--namespace', 'A'], {}],
  ['option_malformed', ['--upstream', 'ftp://a'], {}],
  ['option_malformed', ['--upstream', 'http://a', '--price', '1'], {}],
  ['option_alone', ['--namespace', 'a'], {}],
  ['option_alone', ['--price', '1,1'], {}],
  ['sources_exclusive', ['--kubernetes', '--manifests', 'm'], {}],
  ['upstream_malformed', ['--upstream', 'http://me:secret@a'], {}],
  ['upstream_key_malformed', ['--upstream', 'http://a', '--upstream-key', 'a b'], {}],
  ['replicas_need_postgres', ['--replicas', '2'], {}],
  ['setting_malformed', [], { WEIR_OPS_PORT: 'x' }],
  ['database_url_malformed', [], { WEIR_DATABASE_URL: 'mysql://a' }],
  ['database_url_malformed', [], { WEIR_DATABASE_URL: 'postgres://a:b:c' }],
] as readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[])(
  'is refused with the code %s: %j %j',
  (code, argv, env) => {
    expect(() => readStartOptions(argv, env)).toThrow(expect.objectContaining({ code }));
  },
);

test('a bad setting is refused by name, before anything is started', () => {
  const bad = { WEIR_OPS_PORT: 'x', WEIR_ADMIN_PRT: '1' };
  expect(() => readStartOptions([], bad)).toThrow(expect.objectContaining({ code: 'setting_malformed' }));
  expect(() => readStartOptions([], bad)).toThrow(/^WEIR_ADMIN_PRT: .*WEIR_ADMIN_PORT\?\); WEIR_OPS_PORT: .*"x"\.$/);
});

test('the help is asked for', () => {
  expect(readStartOptions(['--help'], {})).toBeUndefined();
  expect(startHelp).toContain('WEIR_OPS_PORT   (0 to 65535; default 9190)');
});

test.each([
  [['--port', 'x'], '--port'],
  [['--port', '65536'], '--port'],
  [['--port=-1'], '--port'],
  [['--nonsense'], '--nonsense'],
  [['stray'], 'stray'],
  [['--manifests', 'a', '--upstream', 'b'], 'exclude'],
  [['--price', '1,1'], '--price works only with --upstream'],
  [['--upstream-key', 'k'], '--upstream-key works only with --upstream'],
  [['--upstream', 'u:1', '--price', '1'], '--price: expected'],
  [['--upstream', 'u:1', '--price=-1,1'], '--price: expected'],
  [['--upstream', 'u:1', '--price', '0.0000000000001,1'], '--price: expected'],
  [['--upstream', 'ftp://u'], '--upstream: expected an address'],
  [['--upstream', 'http://a:b@u'], '--upstream-key'],
  [['--kubernetes', '--manifests', 'm'], '--manifests and --kubernetes exclude each other'],
  [['--namespace', 'a'], 'works only with --kubernetes'],
  [['--kubernetes', '--namespace', 'A_b'], 'expected lowercase letters'],
])('%j is refused with a sentence about %s', (argv, words) => {
  expect(() => readStartOptions(argv, {})).toThrow(words);
});

test('a key that no header can carry is refused without being quoted', () => {
  expect(() => readStartOptions(['--upstream', 'u:1', '--upstream-key', 'sec ret'], {})).toThrow(
    /^(?!.*sec ret).*upstream-key/,
  );
});
