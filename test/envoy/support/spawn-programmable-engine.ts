import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { BehaviourInput } from '../../programmable-engine/behaviour.ts';

const main = join(import.meta.dirname, '..', '..', 'programmable-engine', 'main.ts');

/** A programmable engine in a process of its own, where the test's would be the bottleneck. */
export interface SpawnedEngine {
  readonly port: number;
  readonly openRequests: () => Promise<number>;
  readonly set: (behaviour: BehaviourInput) => Promise<void>;
  /** The `note` of every request that was recorded and had one. */
  readonly notes: () => Promise<readonly string[]>;
  /** Forgets the requests that were recorded, and what was set. */
  readonly reset: () => Promise<void>;
  /** Resolves when its process has ended, whoever ended it. */
  readonly ended: Promise<void>;
  /** With SIGTERM unless told. */
  readonly close: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Starts one, named `demo` and on a free port unless told. Rejects when it ends before it listens. */
export async function spawnProgrammableEngine(
  behaviour: BehaviourInput = {},
  name = 'demo',
  port = 0,
): Promise<SpawnedEngine> {
  const args = ['--port', String(port), '--name', name, '--behaviour', JSON.stringify(behaviour)];
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`the programmable engine ended with ${String(code)}`)),
    ),
  ])) as [Buffer];
  const url = /http:\S+/.exec(line.toString())?.[0] ?? '';
  return {
    port: Number(new URL(url).port),
    openRequests: async () => {
      const { openRequests } = (await (await fetch(`${url}/control`)).json()) as { readonly openRequests: number };
      return openRequests;
    },
    set: async (more) => {
      await (await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify(more) })).text();
    },
    notes: async () => {
      const recorded = await (await fetch(`${url}/control/requests`)).text();
      return [...recorded.matchAll(/\\"note\\":\\"([\w-]+)\\"/g)].map(([, note = '']) => note);
    },
    reset: async () => {
      await (await fetch(`${url}/control`, { method: 'DELETE' })).text();
    },
    ended,
    close: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await ended;
    },
  };
}
