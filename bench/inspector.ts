import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { AllocationProfile } from './allocation-profile.ts';
import type { CpuProfile } from './cpu-profile.ts';

/** The port of Node's inspector in a process that was started without a port for it. */
const port = 9229;
const openTimeoutMs = 5_000;

/** The inspector of a running Node process: profiles of its main thread. */
export interface Inspector {
  readonly cpuProfile: (during: () => Promise<void>, intervalUs?: number) => Promise<CpuProfile>;
  /** Evaluates an expression in the main thread of the process. The object that results stays there. */
  readonly evaluate: (expression: string) => Promise<RemoteObject>;
  /** Counts objects that were collected as garbage, too. */
  readonly allocations: (during: () => Promise<void>) => Promise<AllocationProfile>;
  readonly close: () => void;
}

/** An object in the inspected process. */
export interface RemoteObject {
  /** Calls a method without arguments, and returns a copy of its result, as JSON has it. Throws if the method throws. */
  readonly call: (method: string) => Promise<unknown>;
}

/** What we read of an evaluation (the Chrome DevTools protocol's Runtime.evaluate and Runtime.callFunctionOn). */
interface Evaluation {
  readonly result: { readonly objectId?: string; readonly value?: unknown };
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
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
  const run = async (method: string, params: object): Promise<Evaluation['result']> => {
    const { result, exceptionDetails: thrown } = (await ask(method, params)) as Evaluation;
    if (thrown !== undefined) throw new Error(thrown.exception?.description ?? thrown.text);
    return result;
  };
  const result = await run('Runtime.evaluate', { expression: 'process.pid' });
  if (result.value !== pid) throw new Error(`Port ${port} is the inspector of process ${String(result.value)}.`);
  return {
    cpuProfile: async (during, intervalUs = 250) => {
      await ask('Profiler.enable');
      await ask('Profiler.setSamplingInterval', { interval: intervalUs });
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
    evaluate: async (expression) => {
      const { objectId } = await run('Runtime.evaluate', { expression });
      return {
        call: async (method) => {
          const functionDeclaration = `function () { return this[${JSON.stringify(method)}](); }`;
          const { value } = await run('Runtime.callFunctionOn', { objectId, functionDeclaration, returnByValue: true });
          return value;
        },
      };
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
