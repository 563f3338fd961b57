import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findKubeTool, type KubeTool } from './tools.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-kube-tools-'));
  vi.stubEnv('KUBEBUILDER_ASSETS', folder);
  // Nothing was built yet.
  vi.stubEnv('XDG_CACHE_HOME', folder);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function install(tool: KubeTool, says: string): string {
  const path = join(folder, tool);
  writeFileSync(path, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(path, 0o755);
  return path;
}

test.each<[KubeTool, string]>([
  ['kube-apiserver', 'Kubernetes v1.36.3'],
  ['etcd', 'etcd Version: 3.6.8'],
  ['kubectl', 'Client Version: v1.32.0'],
  ['helm', 'v3.22.0+gabcdef'],
  ['kubeconform', 'v0.8.0'],
])('%s is taken from the machine that says %j', (tool, says) => {
  const path = install(tool, says);
  expect(findKubeTool(tool)).toBe(path);
});

test.each<[KubeTool, string]>([
  ['kubectl', 'Client Version: v1.20.2'],
  ['etcd', 'etcd Version: 3.4.37'],
  ['helm', 'v4.0.1+gabcdef'],
  ['helm', 'command not understood'],
])('%s is built where the machine says %j', (tool, says) => {
  install(tool, says);
  expect(findKubeTool(tool)).toBeUndefined();
});
