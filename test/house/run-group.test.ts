import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GroupOptions, runGroup } from '../runner/run-group.ts';

let folder: string;
let logFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-group-'));
  logFile = join(folder, 'log');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const node = (code: string, changes: Partial<GroupOptions> = {}): ReturnType<typeof runGroup> =>
  runGroup({
    command: [process.execPath, '-e', code],
    limits: { idleMs: 60_000, maxMs: 60_000 },
    environment: process.env,
    logFile,
    signal: new AbortController().signal,
    ...changes,
  });

/** A process that ended and that nobody has waited for yet is no longer alive. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('hands back the exit code and keeps both outputs', async () => {
  expect(await node("console.log('one'); console.error('two'); process.exitCode = 3")).toEqual({
    code: 3,
    leftBehind: [],
  });
  expect(await readFile(logFile, 'utf8')).toBe('one\ntwo\n');
});

test('hands back what ended a program that died or never began', async () => {
  expect((await node("process.kill(process.pid, 'SIGKILL')")).code).toBe('SIGKILL');
  expect((await node('', { command: ['/no/such/program'] })).code).toContain('ENOENT');
});

test('ends a program that makes no progress, children included', async () => {
  const code = `const { spawn } = require('node:child_process');
    console.log(spawn(process.execPath, ['-e', 'setInterval(String, 1e6)']).pid); setInterval(String, 1e6);`;
  expect((await node(code, { limits: { idleMs: 2_000, maxMs: 60_000 } })).code).toBe('no progress');
  expect(isAlive(Number(await readFile(logFile, 'utf8')))).toBe(false);
});

test('lets a program go on for longer than that which works, or writes', async () => {
  const [works, writes] = [
    'const until = Date.now() + 5_000; while (Date.now() < until);',
    "const timer = setInterval(() => console.log('still here'), 100); setTimeout(() => clearInterval(timer), 5_000);",
  ];
  const limits = { idleMs: 2_000, maxMs: 60_000 };
  expect(
    (await Promise.all([works, writes].map((code, at) => node(code, { limits, logFile: `${logFile}${at}` })))).map(
      ({ code }) => code,
    ),
  ).toEqual([0, 0]);
});

test('ends a program that is busy without an end', async () => {
  expect((await node('for (;;);', { limits: { idleMs: 2_000, maxMs: 3_000 } })).code).toBe('time limit');
});

test('names and ends what a program leaves behind', async () => {
  const code = `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', 'setInterval(String, 1e6)'], { stdio: 'ignore' });
    child.unref(); console.log(child.pid);`;
  const { code: exit, leftBehind } = await node(code);
  expect(exit).toBe(0);
  expect(leftBehind).toEqual([`${process.execPath} -e setInterval(String, 1e6)`]);
  expect(isAlive(Number(await readFile(logFile, 'utf8')))).toBe(false);
});

test('asks a program to end when it is told to, and insists when that is ignored', async () => {
  for (const [code, end] of [
    ['', 'SIGTERM'],
    ["process.on('SIGTERM', String);", 'SIGKILL'],
  ]) {
    const stop = new AbortController();
    const ending = node(`${code} console.log('up'); setInterval(String, 1e6)`, { signal: stop.signal });
    await expect.poll(() => readFileSync(logFile, 'utf8')).toBe('up\n');
    stop.abort();
    expect((await ending).code).toBe(end);
  }
});
