/** The script of each thread of `startThread`: runs the functions of a module, and posts their results. */
import { parentPort, workerData } from 'node:worker_threads';
import { asFailure } from '../core/failure.ts';
import { lowerPriority } from './machine.ts';
import type { FunctionCall, FunctionReply, FunctionWorkerData } from './worker-thread.ts';

const { module, data, isLowPriority }: FunctionWorkerData = workerData;
if (isLowPriority) lowerPriority();
const loaded: {
  readonly createFunctions: (data: unknown) => Readonly<Record<string, (...given: unknown[]) => unknown>>;
} = await import(module);
const functions = loaded.createFunctions(data);

async function answer({ id, name, given }: FunctionCall): Promise<void> {
  try {
    const result = await functions[name]?.(...given);
    if (id !== undefined) post({ id, result }, transferOf(result));
  } catch (error) {
    const { code, message } = asFailure(error);
    if (id !== undefined) post({ id, failure: { code, message } });
  }
}

/** Bytes with a buffer of their own are handed over. Bytes in a shared pool are cloned. */
function transferOf(result: unknown): ArrayBuffer[] {
  if (!(result instanceof Uint8Array) || !(result.buffer instanceof ArrayBuffer)) return [];
  return result.byteLength === result.buffer.byteLength ? [result.buffer] : [];
}

function post(reply: FunctionReply, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(reply, transfer);
}

parentPort?.on('message', (call: FunctionCall) => void answer(call));
// The time of the first call counts from here.
post('ready');
