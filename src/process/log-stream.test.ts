// @suite apart
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { findProgram } from '../../test/support/find-program.ts';
import { createLogStream } from './log-stream.ts';

/** Node makes no named pipe by itself, and a machine may have no more than a shell. */
const canMakePipe = findProgram({ program: 'mkfifo' }) !== undefined;

let folder: string;
const open: number[] = [];
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'weir-log-'))));
afterEach(() => {
  for (const fd of open.splice(0)) closeSync(fd);
  rmSync(folder, { recursive: true });
});

function opened(path: string, flags: string | number): number {
  const fd = openSync(path, flags);
  open.push(fd);
  return fd;
}

function setUp(fd: number, maxBytes?: number) {
  const clock = createFakeClock();
  const format = (record: string): string => record;
  return { clock, stream: createLogStream({ fd, clock, format, ...(maxBytes !== undefined && { maxBytes }) }) };
}

describe('the log stream', () => {
  it('writes the records of 100 ms together, and arms nothing when there is nothing to write', async () => {
    const file = join(folder, 'log');
    const { stream, clock } = setUp(opened(file, 'a'));
    for (const record of ['a\n', 'b\n']) stream.write(record);
    clock.advance(99);
    expect(readFileSync(file, 'utf8')).toBe('');
    expect(clock.armed()).toBe(1);
    clock.advance(1);
    await expect.poll(() => readFileSync(file, 'utf8')).toBe('a\nb\n');
    expect(clock.armed()).toBe(0);
    stream.write('c\n');
    expect(await stream.close(500)).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('a\nb\nc\n');
    expect(clock.armed()).toBe(0);
  });

  it('keeps a bounded amount on a full disk, counts the rest, tries once a second, and closes', async () => {
    const { stream, clock } = setUp(opened('/dev/full', 'w'), 10);
    for (let record = 0; record < 20; record += 1) stream.write('a\n');
    expect(stream.dropped()).toBe(15);
    clock.advance(100);
    await expect.poll(clock.armed).toBe(1);
    clock.advance(999);
    expect(clock.armed()).toBe(1);
    clock.advance(1);
    await expect.poll(clock.armed).toBe(1);
    expect(await stream.close(500)).toBe(true);
    stream.writeNow();
    expect(stream.dropped()).toBe(15);
  });

  it('twin: without a bound it keeps everything', () => {
    const { stream } = setUp(opened('/dev/full', 'w'), Number.POSITIVE_INFINITY);
    for (let record = 0; record < 2_000; record += 1) stream.write(`${'a'.repeat(1_023)}\n`);
    expect(stream.dropped()).toBe(0);
  });

  it.runIf(canMakePipe)('continues with a pipe that is read again, and logs how many records are missing', async () => {
    const path = join(folder, 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    const pipe = opened(path, constants.O_RDWR | constants.O_NONBLOCK);
    const { stream, clock } = setUp(pipe, 64 * 1024);
    const record = `${'a'.repeat(1_023)}\n`;
    for (let number = 0; number < 1_000; number += 1) stream.write(record);
    expect(stream.dropped()).toBe(1_000 - 64);
    let text = '';
    const read = (): string => {
      clock.advance(100);
      const page = Buffer.alloc(64 * 1024);
      try {
        return (text += page.toString('utf8', 0, readSync(pipe, page)));
      } catch {
        return text;
      }
    };
    await expect.poll(read).toMatch(/"dropped":936,"msg":"records of this log were dropped/);
    expect(text.startsWith(record.repeat(64))).toBe(true);
    expect(stream.dropped()).toBe(936);
  });
});

/** A program that logs 100 KiB a round, and whose event loop must run on. It ends by itself, or by `process.exit` if a write is open. */
const program = `
import { logToStandardOutput } from '${new URL('log-stream.ts', import.meta.url).href}';
const stream = logToStandardOutput((record) => record);
for (let round = 0; round < Number(process.argv[1]); round += 1) {
  for (let record = 0; record < 100; record += 1) stream.write('a'.repeat(1_023) + '\\n');
  await new Promise((resolve) => setTimeout(resolve, 1));
}
process.stderr.write(String(stream.dropped()));
if (!(await stream.close(100))) process.exit(7);`;

describe('a program whose standard output is', () => {
  /** How it ended, and how many records it dropped. */
  async function run(
    stdout: 'pipe' | number,
    { reader = 'silent', rounds = 40 }: { readonly reader?: 'silent' | 'gone'; readonly rounds?: number } = {},
  ): Promise<{ readonly code: unknown; readonly dropped: number }> {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, String(rounds)], {
      stdio: ['ignore', stdout, 'pipe'],
    });
    if (reader === 'gone') child.stdout?.destroy();
    else child.stdout?.pause();
    let said = '';
    child.stderr?.on('data', (bytes: Buffer) => (said += bytes.toString()));
    const [code] = (await once(child, 'exit')) as unknown[];
    child.stdout?.destroy();
    return { code, dropped: Number(said) };
  }

  it('a socket that nobody reads drops records, and ends', async () => {
    const { code, dropped } = await run('pipe');
    expect(code).toBe(7);
    expect(dropped).toBeGreaterThan(2_000);
  });

  it('a socket whose reader has gone drops records, and ends', async () => {
    const { code, dropped } = await run('pipe', { reader: 'gone' });
    expect(code).toBe(0);
    expect(dropped).toBeGreaterThan(2_000);
  });

  it.runIf(canMakePipe)('a pipe that nobody reads drops records, and ends', async () => {
    const path = join(folder, 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    const { code, dropped } = await run(opened(path, constants.O_RDWR));
    expect(code).toBe(7);
    expect(dropped).toBeGreaterThan(2_000);
  });

  it('a full disk drops records, and ends', async () => {
    const { code, dropped } = await run(opened('/dev/full', 'w'));
    expect(code).toBe(0);
    expect(dropped).toBeGreaterThan(2_000);
  });

  it('a file drops none', async () => {
    const path = join(folder, 'log');
    expect(await run(opened(path, 'a'), { rounds: 5 })).toEqual({ code: 0, dropped: 0 });
    expect(readFileSync(path, 'utf8')).toHaveLength(5 * 100 * 1_024);
  });
});
