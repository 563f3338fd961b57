import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findEnvoy } from '../../../src/programs/local/find-envoy.ts';
import { freePort } from '../../support/free-port.ts';
import { giveTo, unprivilegedUser } from '../../support/unprivileged-user.ts';
import type { KubeConnection } from './api-server.ts';
import type { Container, PodTemplate, Probe, Variable, Volume } from './pod-shape.ts';
import { kubeRequest } from './request.ts';
import { stuckAfterMs } from '../../support/stuck-after.ts';

/** How a container's process ended. */
export interface ContainerEnd {
  readonly name: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a kubelet makes of a pod, with processes in place of containers. */
export interface Pod {
  /** The port that stands for a container's named one. */
  readonly port: (name: string) => number;
  /** Runs a command in a container: `kubectl exec`. Rejects when it fails. */
  readonly exec: (container: string, command: readonly string[]) => Promise<{ readonly stdout: string }>;
  /** The status of a container's probe; 0 where nobody answers. */
  readonly probe: (container: string, kind: 'livenessProbe' | 'readinessProbe') => Promise<number>;
  readonly log: (container: string) => string;
  /** Runs the container's hook, ends its process and starts it again, as after failed liveness probes. */
  readonly restart: (container: string) => Promise<void>;
  /** Kills a container's process and starts it again. */
  readonly crash: (container: string) => Promise<void>;
  /** Deletes the pod: hooks, the signal to the containers, and once they are gone to the sidecars, the last first. */
  readonly terminate: (options?: {
    readonly withoutHooks?: true;
  }) => Promise<{ readonly hooks: readonly string[]; readonly ends: readonly ContainerEnd[] }>;
  /** The folder that is a volume. */
  readonly volume: (name: string) => string;
  /** Kills what still runs and removes all volumes. */
  readonly remove: () => Promise<void>;
}

export interface PodOptions {
  readonly connection: KubeConnection;
  readonly namespace: string;
  /** What is at `/app` in the service's image. */
  readonly app: string;
  /** Its name. Default: `weir-0`. */
  readonly name?: string;
  /** The content of Secrets that are mounted or are in variables, by their names. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const startMs = 90_000;

/** Starts a rendered pod and resolves when every container has started, as a kubelet would. */
export async function startPod({ spec }: PodTemplate, options: PodOptions): Promise<Pod> {
  const { connection, namespace, app, name: podName = 'weir-0', secrets = {} } = options;
  const user = unprivilegedUser(['nobody']);
  const folder = mkdtempSync(join(tmpdir(), 'weir-pod-'));
  chmodSync(folder, 0o755);
  const containers = [...spec.initContainers, ...spec.containers];
  const claimed = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map((mount) => mount.name));
  for (const volume of new Set(claimed)) await makeVolume(volume);
  const envoy = join(folder, 'envoy');
  placeProgram(await findEnvoy({ env: process.env, report: () => {} }), envoy);
  const ports = new Map<string, { readonly inside: number; readonly outside: number }>();
  for (const { ports: declared = [] } of containers) {
    for (const { name, containerPort } of declared) {
      ports.set(name, { inside: containerPort, outside: await freePort() });
    }
  }

  const running = new Map<string, ChildProcess>();
  const logs = new Map<string, string>();

  async function makeVolume(volume: string): Promise<void> {
    const path = join(folder, volume);
    mkdirSync(path, { mode: 0o700 });
    const declared = spec.volumes.find((candidate) => candidate.name === volume);
    for (const [file, text] of Object.entries(await contentOf(declared))) writeFileSync(join(path, file), text);
    giveTo(user, path);
    chmodSync(path, 0o755);
  }

  async function contentOf(volume: Volume | undefined): Promise<Readonly<Record<string, string>>> {
    if (volume?.secret !== undefined) {
      const { secretName, items } = volume.secret;
      const content = secrets[secretName] ?? {};
      return items === undefined
        ? content
        : Object.fromEntries(items.map(({ key, path }) => [path, content[key] ?? '']));
    }
    return volume?.projected === undefined ? {} : { kubeconfig: await kubeconfigOfAccount() };
  }

  /** Stands for the files of the service account, whose place no process can choose. */
  async function kubeconfigOfAccount(): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${spec.serviceAccountName}/token`;
    const { status, body } = await kubeRequest(connection, 'POST', path, {
      body: { spec: { expirationSeconds: 3607 } },
    });
    if (status !== 201) throw new Error(`no token for the service account (${status}): ${JSON.stringify(body)}`);
    const { token } = (body as { readonly status: { readonly token: string } }).status;
    const authority = readFileSync(connection.caFile).toString('base64');
    return JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'pod' },
      clusters: [{ name: 'pod', cluster: { server: connection.url, 'certificate-authority-data': authority } }],
      users: [{ name: 'pod', user: { token } }],
      contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod' } }],
    });
  }

  /** Paths and ports of the container, as they are out here: all in one pass, because ours contain theirs. */
  function translate(container: Container, text: string): string {
    const mounts = (container.volumeMounts ?? []).map((mount) => [mount.mountPath, join(folder, mount.name)] as const);
    const paths = new Map([...mounts, ['/app', app], ['/usr/local/bin/envoy', envoy]]);
    const numbers = new Map([...ports.values()].map(({ inside, outside }) => [String(inside), String(outside)]));
    const found = [...paths.keys()].toSorted((a, b) => b.length - a.length).map((path) => `${path}(?=/|$)`);
    const pattern = new RegExp([...found, `\\b(?:${[...numbers.keys()].join('|')})$`].join('|'), 'g');
    return text.replace(pattern, (match) => paths.get(match) ?? numbers.get(match) ?? match);
  }

  async function environmentOf(container: Container): Promise<Readonly<Record<string, string>>> {
    const values: Record<string, string> = { PATH: '/nowhere', HOME: '/nowhere', TMPDIR: join(folder, 'tmp') };
    for (const variable of container.env ?? []) values[variable.name] = translate(container, await valueOf(variable));
    const isTrusted = container.volumeMounts?.some((mount) => mount.name === 'api-access') === true;
    return isTrusted ? { ...values, KUBECONFIG: join(folder, 'api-access', 'kubeconfig') } : values;
  }

  async function valueOf({ value, valueFrom }: Variable): Promise<string> {
    const field = valueFrom?.fieldRef?.fieldPath;
    if (field !== undefined) return field === 'metadata.namespace' ? namespace : podName;
    const secret = valueFrom?.secretKeyRef;
    if (secret !== undefined) return secrets[secret.name]?.[secret.key] ?? '';
    const resource = valueFrom?.resourceFieldRef;
    if (resource !== undefined) {
      return bytesOf(containers.find((other) => other.name === resource.containerName)?.resources?.limits?.memory);
    }
    return value ?? '';
  }

  const commandOf = (container: Container, words: readonly string[]): readonly [string, readonly string[]] => {
    const [program = '', ...rest] = words;
    return [
      program === 'node' ? process.execPath : translate(container, program),
      rest.map((word) => translate(container, word)),
    ];
  };

  async function launch(container: Container): Promise<ChildProcess> {
    const env = await environmentOf(container);
    const expand = (word: string): string => word.replace(/\$\((\w+)\)/g, (all, key: string) => env[key] ?? all);
    const words = [...container.command, ...container.args].map(expand);
    const [program, parameters] = commandOf(container, words);
    const child = spawn(program, parameters, { ...user, env, cwd: app, stdio: ['ignore', 'pipe', 'pipe'] });
    const hear = (bytes: Buffer): void => {
      logs.set(container.name, `${logs.get(container.name) ?? ''}${bytes.toString()}`);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    running.set(container.name, child);
    return child;
  }

  async function probe(container: Container, { httpGet }: Probe): Promise<number> {
    const port = ports.get(httpGet.port)?.outside ?? 0;
    const url = `http://127.0.0.1:${port}${httpGet.path}`;
    return fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(stuckAfterMs) }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );
  }

  async function start(container: Container): Promise<void> {
    const child = await launch(container);
    const until = performance.now() + startMs;
    while (container.startupProbe !== undefined && (await probe(container, container.startupProbe)) !== 200) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > until) {
        throw new Error(`${container.name} did not start:\n${logs.get(container.name)}`);
      }
      await sleep(50); // A kubelet asks too.
    }
  }

  async function end(container: Container, signal: NodeJS.Signals): Promise<ContainerEnd> {
    const child = running.get(container.name);
    if (child === undefined) throw new Error(`${container.name} does not run`);
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    }
    running.delete(container.name);
    return { name: container.name, code: child.exitCode, signal: child.signalCode };
  }

  async function exec(container: Container, words: readonly string[]): Promise<{ readonly stdout: string }> {
    const [program, parameters] = commandOf(container, words);
    return promisify(execFile)(program, [...parameters], { ...user, env: await environmentOf(container), cwd: app });
  }

  const hook = async (container: Container): Promise<readonly string[]> => {
    const command = container.lifecycle?.preStop?.exec?.command;
    return command === undefined ? [] : [(await exec(container, command)).stdout];
  };
  const sidecars = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  const named = (wanted: string): Container => {
    const found = containers.find((container) => container.name === wanted);
    if (found === undefined) throw new Error(`there is no container ${wanted}`);
    return found;
  };
  const remove = async (): Promise<void> => {
    for (const container of containers) if (running.has(container.name)) await end(container, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    for (const container of spec.initContainers) {
      if (container.restartPolicy === 'Always') {
        await start(container);
        continue;
      }
      const [code] = (await once(await launch(container), 'exit')) as [number | null];
      running.delete(container.name);
      if (code !== 0) throw new Error(`${container.name} ended with ${code}:\n${logs.get(container.name)}`);
    }
    await Promise.all(spec.containers.map(start));
  } catch (error) {
    await remove();
    throw error;
  }

  return {
    port: (wanted) => ports.get(wanted)?.outside ?? 0,
    exec: (container, command) => exec(named(container), command),
    probe: (container, kind) => {
      const wanted = named(container)[kind];
      return wanted === undefined ? Promise.resolve(0) : probe(named(container), wanted);
    },
    log: (container) => logs.get(container) ?? '',
    restart: async (container) => {
      await hook(named(container));
      await end(named(container), 'SIGTERM');
      await start(named(container));
    },
    crash: async (container) => {
      await end(named(container), 'SIGKILL');
      await start(named(container));
    },
    terminate: async ({ withoutHooks } = {}) => {
      const hooked = withoutHooks === true ? [] : [...spec.containers, ...sidecars];
      const hooks = (await Promise.all(hooked.map(hook))).flat();
      const ends = await Promise.all(spec.containers.map((container) => end(container, 'SIGTERM')));
      for (const sidecar of sidecars.toReversed()) ends.push(await end(sidecar, 'SIGTERM'));
      return { hooks, ends };
    },
    volume: (wanted) => join(folder, wanted),
    remove,
  };
}

/** Where everybody may run it: its own folder may be closed to that user. */
function placeProgram(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // On another disk.
  }
}

function bytesOf(quantity = ''): string {
  const [, count = '', unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  if (count === '') throw new Error(`not a quantity that is known here: "${quantity}"`);
  return String(Number(count) * (unit === 'Gi' ? 1024 ** 3 : 1024 ** 2));
}
