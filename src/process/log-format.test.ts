// @suite apart
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openLogFormat } from './log-format.ts';

const record = `${JSON.stringify({ level: 40, time: 0, requestId: 'r1', error: 'gone', msg: 'attempt failed' })}\n`;
const terminal = (colours: boolean) => ({ isTTY: true, hasColors: () => colours });
/** What a stream has that is no terminal. */
const file = {} as { readonly isTTY: boolean };

describe('the form of a log', () => {
  it('is JSON on anything but a terminal, and wherever that was asked for', async () => {
    expect((await openLogFormat(undefined, file))(record)).toBe(record);
    expect((await openLogFormat('json', terminal(true)))(record)).toBe(record);
  });

  it('is a line for readers on a terminal, with every field, and colours where the terminal has them', async () => {
    const coloured = (await openLogFormat(undefined, terminal(true)))(record);
    const plain = (await openLogFormat(undefined, terminal(false)))(record);
    expect(plain).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: attempt failed \{"requestId":"r1","error":"gone"\}\n$/);
    expect(coloured).not.toBe(plain);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
    expect((await openLogFormat('text', file))(record)).toBe(plain);
  });

  it('shows the controls in what was logged, and does not let a terminal act on them', async () => {
    const hostile = {
      level: 40,
      time: 0,
      msg: 'gone \u001B[2J',
      err: { type: 'Error', message: 'a\u009B2Jb', stack: 'a\u001B]0;b\u0007\n at c' },
    };
    const shown = (await openLogFormat('text', file))(`${JSON.stringify(hostile)}\n`);
    expect(shown).toContain(String.raw`gone \u001b[2J`);
    expect(['\u001B', '\u0007', '\u009B'].filter((control) => shown.includes(control))).toEqual([]);
  });
});
