import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { BehaviourInput } from '../../examples/demo-engine/behaviour.ts';

const main = join(import.meta.dirname, '..', '..', 'examples', 'demo-engine', 'main.ts');

/** A demo engine in a process of its own, where the test's would be the bottleneck. */
export interface SpawnedEngine {
  readonly port: number;
  readonly openRequests: () => Promise<number>;
  readonly set: (behaviour: BehaviourInput) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts one. Rejects when it ends before it listens. */
export async function spawnDemoEngine(behaviour: BehaviourInput = {}): Promise<SpawnedEngine> {
  const child = spawn(process.execPath, [main, '--port', '0', '--behaviour', JSON.stringify(behaviour)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the demo engine ended with ${String(code)}`))),
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
    close: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
