import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { kubeTool } from './support/tools.ts';

import manifest from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

const data = await mkdtemp(join(tmpdir(), 'weir-plugin-'));
// As `npm start` does: the first command makes the links.
execFileSync(process.execPath, [join(root, manifest.bin.weir), '--version']);
afterAll(() => rm(data, { recursive: true }));

/** Runs kubectl with only the links of this checkout, and Node, on its path. No kubeconfig names a cluster. */
const kubectl = (...words: readonly string[]): Promise<{ readonly stdout: string }> => {
  const { WEIR_DATABASE_URL: _, KUBECONFIG: _kubeconfig, ...rest } = process.env;
  const path = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
  return run(kubeTool('kubectl'), words, { env: { ...rest, PATH: path, HOME: data }, cwd: data });
};

test('kubectl lists the plugin', async () => {
  const { stdout } = await kubectl('plugin', 'list', '--name-only');
  expect(stdout.split('\n')).toContain('kubectl-weir');
});

test('kubectl weir does what weir does, on the same accounts', async () => {
  expect((await kubectl('weir', '--version')).stdout).toBe(`${manifest.version}\n`);
  await kubectl('weir', 'workspace', 'create', 'acme', '--data', data);
  const { stdout } = await kubectl('weir', 'workspace', 'list', '--data', data, '--json');
  expect(JSON.parse(stdout)).toMatchObject([{ name: 'acme' }]);
  expect((await kubectl('weir', 'usage', '--data', data, '--json')).stdout).toBe('[]\n');
});

test('kubectl weir ends with the code and the message of weir', async () => {
  await expect(kubectl('weir', 'usage', '--bye', 'day', '--data', data)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("weir: unknown option '--bye'") as unknown,
  });
});
