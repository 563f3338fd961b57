import { mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../core/clock.ts';
import type { Manifests } from './read.ts';
import { parseManifest } from './parse.ts';
import { openManifests } from './watch.ts';

/**
 * Real time for the quiet time after a change. The folder is also read without any sign, by `poll`; that timer never
 * fires by itself, so that what a test sees was seen by the watches.
 */
const pollMs = 3_600_000;
let poll: () => void = () => undefined;
const armed = new Set<NodeJS.Timeout>();
const clock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    if (delayMs === pollMs) {
      poll = run;
      return () => undefined;
    }
    const timer = setTimeout(() => {
      armed.delete(timer);
      run();
    }, delayMs);
    armed.add(timer);
    return () => {
      armed.delete(timer);
      clearTimeout(timer);
    };
  },
};

let root = '';
let dir = '';
let close: () => Promise<void> = () => Promise.resolve();
let seen: Manifests = { objects: [], problems: [] };
let changes = 0;
let look: () => void = () => undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'weir-watch-'));
  dir = join(root, 'manifests');
  await mkdir(dir);
});
afterEach(async () => {
  await close();
  await rm(root, { recursive: true, force: true });
});

async function watch(): Promise<void> {
  changes = 0;
  const source = await openManifests({
    dir,
    clock,
    parse: (file, text) => Promise.resolve(parseManifest(file, text)),
    pollMs,
    debounceMs: 5,
    check: ({ where, value }) =>
      Reflect.has(value as object, 'bad') ? [{ where, field: 'bad', message: 'is bad' }] : [],
    onChange: (manifests) => {
      changes += 1;
      seen = manifests;
      look();
    },
  });
  seen = source.first;
  close = source.close;
}

/** What is served, `name=version`, and the problems' places. */
function state(): string {
  const objects = seen.objects.map(
    ({ value }) => `${metadataName(value)}=${String(Reflect.get(value as object, 'v'))}`,
  );
  return [...objects, ...seen.problems.map(({ where, message }) => `${where}: ${message}`)].join(' ');
}

function metadataName(value: unknown): string {
  return (value as { metadata: { name: string } }).metadata.name;
}

/** Resolves with the first change after which the state is as expected; the test's time limit is the failure. */
function until(expected: string): Promise<void> {
  return new Promise((resolve) => {
    look = () => {
      if (state() === expected) resolve();
    };
    look();
  });
}

const object = (name: string, version: number, more = ''): string =>
  `kind: M\nmetadata: {name: ${name}}\nv: ${version}\n${more}`;
const put = (name: string, text: string): Promise<void> => writeFile(join(dir, name), text);

test('sees a file added, changed and removed', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  expect(state()).toBe('a=1');
  await put('b.yaml', object('b', 1));
  await until('a=1 b=1');
  await put('a.yaml', object('a', 2));
  await until('a=2 b=1');
  await rm(join(dir, 'a.yaml'));
  await until('b=1');
});

test('keeps a broken file’s last good objects, reports it, and goes on with the others', async () => {
  await put('a.yaml', object('a', 1));
  await put('b.yaml', object('b', 1));
  await watch();
  await put('a.yaml', `${object('a', 2)}oops: "\n`);
  await until('a=1 b=1 a.yaml:5: expected a missing ":", comma, quote, bracket or space');
  await put('b.yaml', object('b', 2));
  await until('a=1 b=2 a.yaml:5: expected a missing ":", comma, quote, bracket or space');
  await put('a.yaml', object('a', 3, 'bad: yes\n'));
  await until('a=1 b=2 a.yaml: is bad');
  await put('a.yaml', object('a', 4));
  await until('a=4 b=2');
});

test('removes the objects of a broken file with the file', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  await put('a.yaml', ': : "');
  await until('a=1 a.yaml:1: expected one "key: value" on a line');
  await rm(join(dir, 'a.yaml'));
  await until('');
});

test('takes an emptied file for one being written', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  await truncate(join(dir, 'a.yaml'));
  await until('a=1 a.yaml: expected objects; remove the file to remove those it had');
  await put('a.yaml', object('a', 2));
  await until('a=2');
});

test('sees a file renamed over, again and again', async () => {
  await put('a.yaml', object('a', 0));
  await watch();
  for (let version = 1; version <= 5; version++) {
    await put('.a.yaml.tmp', object('a', version));
    await rename(join(dir, '.a.yaml.tmp'), join(dir, 'a.yaml'));
    await until(`a=${version}`);
  }
});

test('sees a file moved to another name', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  await rename(join(dir, 'a.yaml'), join(dir, 'z.json.off'));
  await until('');
  await rename(join(dir, 'z.json.off'), join(dir, 'z.yaml'));
  await until('a=1');
});

describe('a mounted ConfigMap', () => {
  async function publish(version: number): Promise<void> {
    await mkdir(join(dir, `..${version}`));
    await put(`..${version}/a.yaml`, object('a', version));
    await symlink(`..${version}`, join(dir, '..data_tmp'));
    await rename(join(dir, '..data_tmp'), join(dir, '..data'));
  }

  test('is followed through swaps of its link', async () => {
    await publish(1);
    await symlink('..data/a.yaml', join(dir, 'a.yaml'));
    await watch();
    expect(state()).toBe('a=1');
    for (let version = 2; version <= 4; version++) {
      await publish(version);
      await rm(join(dir, `..${version - 1}`), { recursive: true });
      await until(`a=${version}`);
    }
  });
});

describe('sub-folders', () => {
  test('are followed when they are new, and when one takes the place of another', async () => {
    await watch();
    await mkdir(join(dir, 'x/y'), { recursive: true });
    await put('x/y/a.yaml', object('a', 1));
    await until('a=1');
    await put('x/y/a.yaml', object('a', 2));
    await until('a=2');
    await rm(join(dir, 'x'), { recursive: true });
    await until('');
    await mkdir(join(dir, 'x/y'), { recursive: true });
    await put('x/y/a.yaml', object('a', 3));
    await until('a=3');
    await put('x/y/a.yaml', object('a', 4));
    await until('a=4');
  });
});

describe('the folder itself', () => {
  test('may be missing at first and may go away: what was good is kept until it is back', async () => {
    await rm(dir, { recursive: true });
    await watch();
    expect(state()).toBe(`${dir}: expected a readable folder`);
    await mkdir(dir);
    await put('a.yaml', object('a', 1));
    await until('a=1');
    await rename(dir, `${dir}-away`);
    await until(`a=1 ${dir}: expected a readable folder`);
    await mkdir(dir);
    await put('b.yaml', object('b', 1));
    await until('b=1');
    await put('b.yaml', object('b', 2));
    await until('b=2');
  });

  test('may be a link that is swapped', async () => {
    await mkdir(join(root, 'one'));
    await mkdir(join(root, 'two'));
    await writeFile(join(root, 'one/a.yaml'), object('a', 1));
    await writeFile(join(root, 'two/a.yaml'), object('a', 2));
    await rm(dir, { recursive: true });
    await symlink('one', dir);
    await watch();
    expect(state()).toBe('a=1');
    await symlink('two', `${dir}.tmp`);
    await rename(`${dir}.tmp`, dir);
    await until('a=2');
    await put('a.yaml', object('a', 3));
    await until('a=3');
  });
});

test('sees the target of a link to a file elsewhere change', async () => {
  await mkdir(join(root, 'elsewhere'));
  await writeFile(join(root, 'elsewhere/a.txt'), object('a', 1));
  await symlink('../elsewhere/a.txt', join(dir, 'a.yaml'));
  await watch();
  await writeFile(join(root, 'elsewhere/a.txt'), object('a', 2));
  await until('a=2');
});

test('reads the folder now and then without a sign, for what no watch shows', async () => {
  await mkdir(join(root, 'one'));
  await mkdir(join(root, 'two'));
  await writeFile(join(root, 'one/a.yaml'), object('a', 1));
  await writeFile(join(root, 'two/a.yaml'), object('a', 2));
  await symlink('one', join(root, 'current'));
  await symlink('../current/a.yaml', join(dir, 'a.yaml'));
  await watch();
  await symlink('two', join(root, 'current.tmp'));
  await rename(join(root, 'current.tmp'), join(root, 'current'));
  poll();
  await until('a=2');
});

test('does not report a change that changes nothing', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  await put('a.yaml', object('a', 1));
  await put('notes.txt', 'x');
  await put('b.yaml', object('b', 1));
  await until('a=1 b=1');
  expect(changes).toBe(1);
});

test('hands out the same object while its file stays the same', async () => {
  await put('a.yaml', object('a', 1));
  await watch();
  const [before] = seen.objects;
  await put('b.yaml', object('b', 1));
  await until('a=1 b=1');
  expect(seen.objects[0]).toBe(before);
});

test('loses no change in a storm of them', async () => {
  await watch();
  for (let version = 1; version <= 200; version++)
    await put(`f${version % 7}.yaml`, object(`f${version % 7}`, version));
  await until('f0=196 f1=197 f2=198 f3=199 f4=200 f5=194 f6=195');
});

test('is silent after it was closed, and leaves no timer', async () => {
  await watch();
  await put('a.yaml', object('a', 1));
  await until('a=1');
  await put('a.yaml', object('a', 2));
  await close();
  const before = changes;
  await put('a.yaml', object('a', 3));
  poll();
  await close();
  expect(changes).toBe(before);
  expect(armed.size).toBe(0);
});
