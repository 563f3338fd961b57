// @suite slow
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { compileCache } from '../../../test/support/program-environment.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';

it('weir portal logs lines for readers on a terminal, in colours unless NO_COLOR is set, and JSON where that is asked for', async () => {
  const main = join(import.meta.dirname, '..', '..', 'main.ts');
  const firstLine = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const command = `exec ${process.execPath} ${main} portal --port 0 --data ${temporaryFolder()}`;
    // `script` of util-linux gives its command a terminal.
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...compileCache, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let text = '';
    for await (const piece of terminal.stdout.setEncoding('utf8')) {
      text += String(piece);
      if (text.includes('portal ready')) break;
    }
    terminal.kill();
    return text;
  };
  const escape = '\u001b[';
  const coloured = await firstLine({});
  expect(coloured).toContain(`${escape}32mINFO`);
  expect(stripVTControlCharacters(coloured)).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: portal ready \{"port":\d+\}/m);
  const plain = await firstLine({ NO_COLOR: '1' });
  expect(plain).toMatch(/\[.*\] INFO: portal ready/);
  expect(plain).not.toContain(escape);
  expect(await firstLine({ WEIR_LOG_FORMAT: 'json' })).toMatch(/\{"level":30,.*"msg":"portal ready"\}/);
});
