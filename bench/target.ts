import type { AnswerShape } from './answers.ts';
import type { Address } from './caller.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Prompt } from './prompts.ts';
import { cpuMs, isEnvoy, memoryOf, processTree, type MemoryUse, type ProcessInfo } from './process-usage.ts';

/** `bare` is Weir's path without Weir's work (bare-path.ts); `peer` is another gateway (peer.ts); `before` is another checkout of Weir, measured beside this one; `sampled` and `traced` are this one with tracing on, for one request in a hundred and for each; `events` is this one while it sends events (events.ts); `token` is this one again, whose caller has a token in place of a key. */
export const targetNames = [
  'direct',
  'plain',
  'bare',
  'peer',
  'before',
  'weir',
  'sampled',
  'traced',
  'events',
  'token',
] as const;
export type TargetName = (typeof targetNames)[number];

/** Something that answers chat completions, and the processes that it takes. */
export interface Target {
  readonly name: TargetName;
  readonly address: Address;
  /** The request for an answer of this shape. Undefined prompt: a short one. */
  readonly request: (shape: AnswerShape, stream: boolean, prompt?: Prompt) => ChatRequest;
  /** The root of its process tree; absent when it is the mock engine itself. */
  readonly pid?: number;
  /** Serves the models whose tokens the gateway counts. Absent: it counts none. */
  readonly serveExact?: () => Promise<void>;
  /** The bench's own processes: the load and the mock engines. */
  readonly benchPids: readonly number[];
}

/** Whose processor time or memory it is. Absent where the system does not say. */
export interface Shares<Value> {
  readonly service: Value | undefined;
  readonly envoy: Value | undefined;
}

interface TargetProcesses {
  readonly service: readonly number[];
  readonly envoy: readonly number[];
  readonly bench: readonly number[];
}

/** Processor time so far, in ms. `bench` is what the measuring itself takes on the same cores. */
export interface CpuShares extends Shares<number> {
  readonly bench: number | undefined;
}

/**
 * Sorts a target's processes. The root of the tree only starts and watches the others; it is the service itself
 * where there is no other program than Envoy below it.
 */
export async function processesOf(target: Target): Promise<TargetProcesses> {
  const tree = target.pid === undefined ? [] : await processTree(target.pid);
  const programs = tree.filter((info) => !isEnvoy(info));
  const below = programs.filter((info) => info.pid !== target.pid);
  const pids = (infos: readonly ProcessInfo[]): readonly number[] => infos.map((info) => info.pid);
  return {
    service: pids(below.length > 0 ? below : programs),
    envoy: pids(tree.filter(isEnvoy)),
    bench: target.benchPids,
  };
}

/** How many worker threads this target's Envoy was told to use; undefined when it decides by itself. */
export async function envoyConcurrency(target: Target): Promise<number | undefined> {
  const tree = target.pid === undefined ? [] : await processTree(target.pid);
  const told = tree.filter(isEnvoy).map((info) => /--concurrency[ =](\d+)/.exec(info.command)?.[1]);
  return told[0] === undefined ? undefined : Number(told[0]);
}

export async function cpuOf(processes: TargetProcesses): Promise<CpuShares> {
  return {
    service: await cpuMs(processes.service),
    envoy: await cpuMs(processes.envoy),
    bench: await cpuMs(processes.bench),
  };
}

export async function memoryOfTarget(target: Target): Promise<Shares<MemoryUse>> {
  const processes = await processesOf(target);
  return { service: await memoryOf(processes.service), envoy: await memoryOf(processes.envoy) };
}

/** Proportional set size of all programs of a target, those included that only start the others; undefined where the system does not say. */
export async function pssOfPrograms({ pid }: Pick<Target, 'pid'>): Promise<number | undefined> {
  const tree = pid === undefined ? [] : await processTree(pid);
  return (await memoryOf(tree.map((info) => info.pid)))?.pssBytes;
}
