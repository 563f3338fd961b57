import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, '.github', 'workflows');
const files = readdirSync(folder).map((name) => join(folder, name));
const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Runs actionlint, which Go builds from the pins beside it and keeps. What it may find besides depends on the machine: off. */
function actionlint(...given: readonly string[]): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr, error } = spawnSync(
    'go',
    ['tool', 'actionlint', '-no-color', '-oneline', '-shellcheck=', '-pyflakes=', ...given],
    {
      cwd: join(import.meta.dirname, 'actionlint'),
      encoding: 'utf8',
      env: { ...process.env, GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local', GOWORK: 'off' },
    },
  );
  return {
    code: status,
    said: error === undefined ? stdout + stderr : `Go is needed for actionlint: ${error.message}`,
  };
}

describe('the workflows', () => {
  let planted: string;

  beforeAll(() => {
    planted = mkdtempSync(join(tmpdir(), 'weir-workflows-'));
    // Building it takes a minute, once.
    actionlint('-version');
  }, 600_000);

  afterAll(() => rmSync(planted, { recursive: true }));

  it('are what actionlint takes', () => {
    expect(actionlint(...files)).toEqual({ code: 0, said: '' });
  });

  it('would be refused with a mistake in them', () => {
    const file = join(planted, 'check.yml');
    writeFileSync(file, read('.github/workflows/check.yml').replace('runs-on: ubuntu-24.04', 'runs-in: ubuntu-24.04'));
    const { code, said } = actionlint(file);
    expect(code).toBe(1);
    expect(said).toContain('"runs-on" section is missing');
  });

  it('name every action by its commit, and the version beside it', () => {
    const uses = [...text.matchAll(/uses: (.*)/g)].map(([, action = '']) => action);
    expect(uses.length).toBeGreaterThan(5);
    expect(uses.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
  });

  it('name every image by its digest, and no registry', () => {
    const images = [...text.matchAll(/_IMAGE: (.*)/g)].map(([, image = '']) => image);
    expect(images).toHaveLength(3);
    expect(images.filter((image) => !/^[\w/-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
    expect(text).not.toMatch(/\b[\w-]+\.(?:io|com|dev|org)\//);
  });

  it('run what anybody can run here', () => {
    expect(read('.github/workflows/check.yml')).toContain('- run: .ci/run\n');
  });

  it('build on the Node that everything is tested on', () => {
    const version = process.version.slice(1);
    const { optionalDependencies } = z
      .object({ optionalDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('package.json')));
    const builds = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'));
    expect(builds.length).toBeGreaterThan(3);
    expect(new Set(builds.map(([, built]) => built))).toEqual(new Set([version]));
    expect(read('Dockerfile')).toContain(`ARG NODE_IMAGE=node:${version}-`);
    expect(text).toContain(`NODE_IMAGE: node:${version}-`);
    expect(text).toContain(`node-version: ${version}\n`);
  });
});

it('a release has one version, and the changelog describes it', () => {
  const versioned = z.object({ version: z.string() });
  const { version } = versioned.parse(JSON.parse(read('package.json')));
  const chart = versioned.extend({ appVersion: z.string() }).parse(parse(read('charts/weir/Chart.yaml')));
  expect(chart).toEqual({ version, appVersion: version });
  expect(read('README.md')).toContain(`\nVersion ${version}, `);
  for (const folder of ['portal', 'docs']) {
    expect(versioned.parse(JSON.parse(read(`${folder}/package.json`)))).toEqual({ version });
  }
  expect(/^## (\S+), /m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
});
