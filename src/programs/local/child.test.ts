import { describe, expect, it } from 'vitest';
import { withoutFiles } from '../../../test/support/without-files.ts';
import { runCommand } from './child.ts';

const child = new URL('child.ts', import.meta.url);

describe('a short command', () => {
  it('resolves to its code and to both of its outputs', async () => {
    const args = ['-c', 'echo out; echo err >&2; exit 3'];
    const { code, output } = await runCommand('sh', args, { timeoutMs: 60_000 });
    expect([code, output.split('\n').toSorted()]).toEqual([3, ['', 'err', 'out']]);
  });

  it('is one that cannot be started if no file is left, and does not throw, as reading its outputs would', async () => {
    expect(await withoutFiles("return runCommand('true', [], { timeoutMs: 60_000 });", { runCommand: child })).toEqual({
      output: expect.stringContaining('EMFILE'),
    });
    const direct = "const child = spawn('true'); child.on('error', () => undefined); child.stdout.setEncoding('utf8');";
    expect(await withoutFiles(direct, { spawn: 'node:child_process' })).toEqual({ thrown: 'TypeError' });
  });
});

it('a program that cannot be started because no file is left has ended, so that its supervisor tries again', async () => {
  const code =
    "return startChild({ command: 'true', args: [], logPath: '/nowhere', onMessage: () => undefined }).ended;";
  expect(await withoutFiles(code, { startChild: child })).toMatch(/^could not be started: .*EMFILE/);
});
