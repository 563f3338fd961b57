// @suite apart
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { keepLogsSmall, openLog, rotateLog, tailLog } from './log-file.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-log-'));
  path = join(folder, 'service.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const mebibyte = 1024 * 1024;

/** A program that has the log as its output and writes numbered lines until it gets a signal to end. */
function startWriter() {
  const log = openLog(path);
  const script = `
    let n = 0;
    process.stdin.once('data', () => process.exit(0));
    setInterval(() => { for (let i = 0; i < 50; i++) console.log(String(n++)); }, 1);
  `;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', log, log] });
  if (log !== undefined) closeSync(log);
  return {
    end: async () => {
      child.stdin?.write('end');
      await once(child, 'exit');
    },
  };
}

const numbersIn = (file: string): readonly number[] => readFileSync(file, 'utf8').trim().split('\n').map(Number);

describe('a log', () => {
  it('that is small is left alone', () => {
    writeFileSync(path, 'one\n');
    rotateLog(path, 4);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(existsSync(`${path}.1`)).toBe(false);
  });

  it('that is large is put aside, its end only, in place of what was put aside before', () => {
    writeFileSync(`${path}.1`, 'older\n'.repeat(100));
    writeFileSync(path, 'one\ntwo\ntri\n');
    rotateLog(path, 8);
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('two\ntri\n');
  });

  it('keeps what is written after it was put aside, by a program that got no signal', async () => {
    const writer = startWriter();
    await expect.poll(() => statSync(path).size).toBeGreaterThan(4_000);
    rotateLog(path, 1_000);
    await expect.poll(() => statSync(path).size).toBeGreaterThan(1_000);
    await writer.end();
    const numbers = numbersIn(path);
    // A program whose file was not open for appending would leave a hole at the beginning.
    expect(readFileSync(path).includes(0)).toBe(false);
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? NaN) + index));
    expect(numbers[0]).toBeGreaterThan(numbersIn(`${path}.1`).at(-1) ?? NaN);
  });

  it('is emptied when the disk has no room for what is to be put aside', () => {
    symlinkSync('/dev/full', `${path}.1`);
    writeFileSync(path, 'one\ntwo\n');
    rotateLog(path, 4);
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(existsSync(`${path}.1`)).toBe(false);
  });

  it('is looked at every second, and every log of the folder is', () => {
    const clock = createFakeClock();
    const cancelTimer = keepLogsSmall(folder, clock);
    const others = join(folder, 'envoy.log');
    for (const file of [path, others]) writeFileSync(file, Buffer.alloc(17 * mebibyte, 'x'));
    clock.advance(1_000);
    for (const file of [path, others]) {
      expect(statSync(file).size).toBe(0);
      expect(statSync(`${file}.1`).size).toBe(16 * mebibyte);
    }
    cancelTimer();
    expect(clock.armed()).toBe(0);
  });

  it('whose folder was taken away is looked for again', () => {
    const clock = createFakeClock();
    const cancelTimer = keepLogsSmall(join(folder, 'no-such-folder'), clock);
    clock.advance(1_000);
    expect(clock.armed()).toBe(1);
    cancelTimer();
  });

  it('that cannot be opened is none', () => {
    expect(openLog(join(folder, 'no-such-folder', 'service.log'))).toBeUndefined();
  });

  it('shows the last lines after a place, and all of them when it was put aside since', () => {
    writeFileSync(path, 'before\n');
    appendFileSync(path, 'a\nb\nc\n');
    expect(tailLog(path, { from: 7, lines: 2 })).toEqual(['b', 'c']);
    writeFileSync(path, 'x\n');
    expect(tailLog(path, { from: 7, lines: 2 })).toEqual(['x']);
    expect(tailLog(join(folder, 'none'), { from: 0, lines: 2 })).toEqual([]);
  });
});
