import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maxConfigurationBytes } from '../../process/bounded-file.ts';
import { readInput } from './read-input.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-input-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const what = 'a config.yaml';
const piped = (pieces: Iterable<string | Uint8Array>): Readable => Readable.from(pieces, { objectMode: false });

describe('the text for a command', () => {
  it.each(['-', '/dev/stdin', '/dev/fd/0'])('is standard input, in pieces: %s', async (path) => {
    const stdin = piped(['model_', 'list: [', Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1), ']']);
    expect(await readInput(path, { what, stdin })).toEqual({ name: 'standard input', text: 'model_list: [ä]' });
  });

  it('is a file, also behind a link', async () => {
    writeFileSync(join(dir, 'file'), 'text');
    symlinkSync('file', join(dir, 'link'));
    expect(await readInput(join(dir, 'link'), { what })).toEqual({ name: join(dir, 'link'), text: 'text' });
  });

  it('is read up to its bound, and no further where it has no end', async () => {
    let taken = 0;
    const endless = piped(
      (function* () {
        for (;;) {
          taken += 65_536;
          yield 'x'.repeat(65_536);
        }
      })(),
    );
    const message = `standard input: expected a config.yaml of at most ${maxConfigurationBytes} bytes`;
    await expect(readInput('-', { what, stdin: endless })).rejects.toThrow(message);
    expect(taken).toBeLessThan(2 * maxConfigurationBytes);
    expect(endless.destroyed).toBe(true);
    const full = 'x'.repeat(maxConfigurationBytes);
    expect((await readInput('-', { what, stdin: piped([full]) })).text).toBe(full);
    await expect(readInput('-', { what, stdin: piped([full, 'x']) })).rejects.toThrow(message);
  });

  it.each([
    ['nothing', '-', 'standard input: expected a config.yaml, not an empty text'],
    ['no file', '/nowhere/x', '/nowhere/x: expected a config.yaml in a file that can be read, or - for standard input'],
    ['a folder', '/', '/: expected a config.yaml in a regular file or a pipe, or - for standard input'],
    ['a device', '/dev/zero', '/dev/zero: expected a config.yaml in a regular file or a pipe'],
  ])('is refused with what was expected: %s', async (_, path, message) => {
    await expect(readInput(path, { what, stdin: piped([]) })).rejects.toThrow(message);
  });

  it('is refused if it is no text', async () => {
    const stdin = piped([Buffer.of(0xff, 0xfe)]);
    await expect(readInput('-', { what, stdin })).rejects.toThrow('expected a config.yaml as text in UTF-8');
  });
});
