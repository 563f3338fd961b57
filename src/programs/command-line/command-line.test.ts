// @suite apart
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { compileCache, inheritedEnvironment } from '../../../test/support/program-environment.ts';
import { commandGroups } from './command-groups.ts';

/** Throws a shortage, once, where nothing catches it: while the program prints its help. */
const failing = `
const print = process.stdout.write;
process.stdout.write = function (...parts) {
  process.stdout.write = print;
  queueMicrotask(() => {
    throw Object.assign(new Error('none left'), { code: 'EMFILE', syscall: 'accept' });
  });
  return print.apply(process.stdout, parts);
};`;

/** Runs `weir NAME --help` with the shortage, to its end. */
async function helpOf(
  name: string,
): Promise<{ readonly code: unknown; readonly error: string; readonly help: string }> {
  const main = join(import.meta.dirname, '..', '..', 'main.ts');
  const args = ['--import', `data:text/javascript,${encodeURIComponent(failing)}`, main, name, '--help'];
  const env = { ...inheritedEnvironment(), ...compileCache };
  const ended = promisify(execFile)(process.execPath, args, { env });
  return ended.then(
    ({ stdout, stderr }) => ({ code: 0, error: stderr, help: stdout }),
    ({ code, stdout, stderr }) => ({ code, error: stderr, help: stdout }),
  );
}

const programs = commandGroups.filter(({ load }) => load.kind === 'program').map(({ name }) => name);

it('knows the programs that keep running', () => {
  expect(programs).toEqual(['start', 'serve', 'portal', 'picker']);
});

it.each(programs)('weir %s survives a shortage that no code handles, and reports it', async (name) => {
  expect(await helpOf(name)).toEqual({
    code: 0,
    error: 'weir: out of system resources: none left\n',
    help: expect.stringContaining(`weir ${name}`),
  });
});

it('a command, which does not keep running, ends with it: a result that never comes must not look like success', async () => {
  expect(await helpOf('usage')).toMatchObject({ code: 1, error: expect.stringContaining('none left') });
});
