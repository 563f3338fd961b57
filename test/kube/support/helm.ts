import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import type { KubectlEnd } from './kubectl.ts';
import { kubeTool } from './tools.ts';

export const chart = join(import.meta.dirname, '..', '..', '..', 'charts', 'weir');

/** An object as the chart renders it, as far as every one is the same. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
}

/** Runs helm with nothing of the user's own, `values` taking the place of a values file. Any end is a result. */
export async function helm(
  parameters: readonly string[],
  options: { readonly values?: unknown; readonly kubeconfig?: string } = {},
): Promise<KubectlEnd> {
  const { values, kubeconfig } = options;
  const inherited = Object.entries(process.env).filter(([name]) => !/^(HELM_|KUBE|XDG_)/.test(name));
  const home = `${kubeconfig ?? '/nonexistent'}.helm`;
  const env = {
    ...Object.fromEntries(inherited),
    ...{ XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
    ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
  };
  const all = [...parameters, ...(values === undefined ? [] : ['--values', '-'])];
  const child = spawn(kubeTool('helm'), all, { stdio: 'pipe', env });
  child.stdin.on('error', () => undefined); // It may end before it has read all.
  child.stdin.end(JSON.stringify(values ?? {}));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** What `helm template` prints. Rejects with helm's words when it refuses. */
export async function template(
  values: unknown,
  { name = 'weir', namespace = 'weir-system' }: { readonly name?: string; readonly namespace?: string } = {},
): Promise<string> {
  const end = await helm(['template', name, chart, '--namespace', namespace], { values });
  if (end.code !== 0) throw new Error(end.stderr.trim());
  return end.stdout;
}

/** The objects in what helm printed. */
export function objectsIn(manifest: string): readonly Rendered[] {
  return parseAllDocuments(manifest)
    .map((document) => document.toJSON() as Rendered | null)
    .filter((object) => object !== null);
}
