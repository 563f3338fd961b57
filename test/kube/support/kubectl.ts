import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { KubeConnection } from './api-server.ts';
import { kubeTool } from './tools.ts';

export interface KubectlEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl as a person would, with `input` on its standard input. Any end is a result. */
export async function kubectl(
  { kubeconfig }: Pick<KubeConnection, 'kubeconfig'>,
  parameters: readonly string[],
  input = '',
): Promise<KubectlEnd> {
  // Its cache of what kinds there are would go to the user's home.
  const all = ['--kubeconfig', kubeconfig, '--cache-dir', `${kubeconfig}.cache`, ...parameters];
  const child = spawn(kubeTool('kubectl'), all, { stdio: 'pipe' });
  child.stdin.on('error', () => undefined); // It may end before it has read all.
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
