import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { commandGroups } from '../command-line/command-groups.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function scriptOf(shell: string): Promise<string> {
  const { stdout, code } = await runCommand(['completion', shell]);
  expect(code).toBe(0);
  const file = join(folder, `weir.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

/** What bash completes in place of the last word. */
async function inBash(...words: readonly string[]): Promise<readonly string[]> {
  const line = ['weir', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source ${await scriptOf('bash')}; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _weir; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const said = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  return said.split('\n').filter((line_) => line_ !== '');
}

it('completes commands, their commands and their flags in a real bash', async () => {
  expect(await inBash('')).toEqual(commandGroups.map(({ name }) => name));
  expect(await inBash('do')).toEqual(['doctor']);
  expect(await inBash('key', 'c')).toEqual(['create']);
  expect(await inBash('key', 'create', '--work')).toEqual(['--workspace']);
  expect(await inBash('start', '--up')).toEqual(['--upstream', '--upstream-key']);
  expect(await inBash('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
  // A value between a flag and the next word is no command.
  expect(await inBash('key', 'create', '--workspace', 'acme', '--na')).toEqual(['--name']);
  expect(await inBash('no-such-command', 'c')).toEqual(
    ['completion', 'catalog'].toSorted((a, b) => orderOf(a) - orderOf(b)),
  );
});

const orderOf = (name: string): number => commandGroups.findIndex((group) => group.name === name);

it.each(['bash', 'zsh', 'fish'])('has every command of the table for %s', async (shell) => {
  const { stdout } = await runCommand(['completion', shell]);
  for (const { name } of commandGroups) expect(stdout).toContain(name);
  for (const flag of ['workspace', 'upstream-key', 'manifests']) expect(stdout).toContain(flag);
});

it('refuses another shell', async () => {
  const { code, stderr } = await runCommand(['completion', 'csh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')]);
});
