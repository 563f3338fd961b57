import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { AllocationProfile } from './allocation-profile.ts';
import type { CpuProfile } from './cpu-profile.ts';

/** The port of Node's inspector in a process that was started without a port for it. */
const port = 9229;
const openTimeoutMs = 5_000;

/** The inspector of a running Node process: profiles of its main thread. */
export interface Inspector {
  readonly cpuProfile: (during: () => Promise<void>) => Promise<CpuProfile>;
  /** Counts objects that were collected as garbage, too. */
  readonly allocations: (during: () => Promise<void>) => Promise<AllocationProfile>;
  readonly close: () => void;
}

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Opens the inspector of a process, which Node does at SIGUSR1. Throws if it does not open. */
export async function openInspector(pid: number): Promise<Inspector> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await inspectorUrl());
  await once(socket, 'open');
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.id === undefined) return;
    const question = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) question?.resolve(reply.result);
    else question?.reject(new Error(reply.error.message));
  });
  let asked = 0;
  const ask = (method: string, params: object = {}): Promise<unknown> => {
    const id = (asked += 1);
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  // Another process may have the port already.
  const { result } = (await ask('Runtime.evaluate', { expression: 'process.pid' })) as {
    readonly result: { readonly value: unknown };
  };
  if (result.value !== pid) throw new Error(`Port ${port} is the inspector of process ${String(result.value)}.`);
  return {
    cpuProfile: async (during) => {
      await ask('Profiler.enable');
      await ask('Profiler.setSamplingInterval', { interval: 250 });
      await ask('Profiler.start');
      await during();
      return ((await ask('Profiler.stop')) as { readonly profile: CpuProfile }).profile;
    },
    allocations: async (during) => {
      const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
      await ask('HeapProfiler.startSampling', { samplingInterval: 16_384, ...collected });
      await during();
      return ((await ask('HeapProfiler.stopSampling')) as { readonly profile: AllocationProfile }).profile;
    },
    close: () => socket.close(),
  };
}

async function inspectorUrl(): Promise<string> {
  const deadline = performance.now() + openTimeoutMs;
  for (;;) {
    const [target] = await fetch(`http://127.0.0.1:${port}/json/list`).then(
      async (answer) => (await answer.json()) as { readonly webSocketDebuggerUrl: string }[],
      () => [],
    );
    if (target !== undefined) return target.webSocketDebuggerUrl;
    if (performance.now() > deadline) throw new Error(`No inspector opened on port ${port}.`);
    // Node reports nothing when its inspector is open.
    await wait(50);
  }
}
