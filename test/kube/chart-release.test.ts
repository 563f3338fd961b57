import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { helm } from './support/helm.ts';
import { kubeTool } from './support/tools.ts';

const run = promisify(execFile);
const script = join(import.meta.dirname, '..', '..', 'scripts', 'pack-chart.sh');
const image = 'registry.example.com/acme/weir';
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
let folder: string;

const pack = (given: string): Promise<unknown> =>
  run(script, ['1.2.3', image, given, folder], {
    env: { ...process.env, PATH: `${dirname(kubeTool('helm'))}${delimiter}${process.env['PATH']}` },
  });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-chart-'));
});

afterEach(() => rm(folder, { recursive: true }));

test('the chart of a release names its version, and its own image by digest', async () => {
  await pack(digest);
  const { code, stdout, stderr } = await helm(['template', 'weir', join(folder, 'weir-1.2.3.tgz')]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const images = [...stdout.matchAll(/^ +image: "?([^"\n]+)"?$/gm)].map(([, named = '']) => named);
  expect(images.filter((named) => !named.includes('/envoy:'))).toEqual(Array(2).fill(`${image}:1.2.3@${digest}`));
});

test('a chart is not packed with what is no digest', async () => {
  await expect(pack('latest')).rejects.toThrow('not a digest: latest');
});
