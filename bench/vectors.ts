import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { findEnvoy } from '../src/programs/local/find-envoy.ts';
import type { BenchCommand } from './command-line.ts';
import { startPeer } from './peer.ts';
import { startPlainEnvoy } from './plain-envoy.ts';
import { startPortProcess } from './port-process.ts';
import { cpuMs, memoryOf, processTree } from './process-usage.ts';
import type { TargetName } from './target.ts';
import { dimensions, type Form, vectorModel, writeVectorManifests } from './vectors-engine.ts';
import { startWeir } from './weir-process.ts';

/** A gateway that answers embeddings requests. */
interface VectorTarget {
  readonly name: TargetName;
  readonly origin: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly pid: number;
}

/** What one input of 100 tokens costs: processor time of all programs of a gateway, and the time of a call. */
export interface CallFigure {
  readonly target: TargetName;
  readonly encoding: 'float' | 'base64';
  readonly cpuMicroseconds: number;
  readonly p50Ms: number;
}

/** One call with 2,048 inputs, the first one of a gateway and a later one. */
export interface LargeFigure {
  readonly target: TargetName;
  /** What the engine sends. */
  readonly form: Form;
  readonly encoding: 'float' | 'base64';
  readonly ms: number;
  /** Bytes of the request and its answer. */
  readonly bytes: number;
  /** The highest proportional set size of its programs, above that before its first large call, divided by `bytes`. */
  readonly growth: number;
}

export interface VectorFigures {
  readonly calls: readonly CallFigure[];
  readonly large: readonly LargeFigure[];
}

interface StartOptions {
  readonly command: BenchCommand;
  readonly folder: string;
  readonly report: (line: string) => void;
  readonly onClose: (close: () => Promise<void>) => void;
}

const callers = 64;
const callsOfRound = 4_000;
const inputsOfLarge = 2_048;
const memoryEveryMs = 10;
/** 100 words, of which most tokenizers make a token each. */
const input = 'the tide comes in over the weir and '.repeat(13).slice(0, 460);

/** Measures embeddings through each gateway, round by round: 64 callers with one input, then one caller with 2,048. */
export async function measureVectors(options: StartOptions): Promise<VectorFigures> {
  const { rounds } = options.command.plan;
  const targets = await startTargets(options);
  const calls: CallFigure[] = [];
  const large: LargeFigure[] = [];
  for (const target of targets) for (const encoding of encodings) await runCalls(target, encoding);
  for (let round = 0; round < rounds; round += 1) {
    for (const encoding of encodings) {
      options.report(`round ${round + 1}: ${callers} callers, ${encoding}`);
      for (const target of targets)
        calls.push({ ...(await runCalls(target, encoding)), target: target.name, encoding });
    }
  }
  for (const target of targets) {
    options.report(`${inputsOfLarge} inputs: ${target.name}`);
    // A body of this size starts the threads that read large ones.
    for (const form of formNames) await runLarge(target, { encoding: 'float', form, before: 0, inputs: 300 });
    // Memory is that of programs at rest, and rest is time passing.
    await wait(2_000);
    const before = await pssOf(target);
    for (let round = 0; round < rounds; round += 1)
      for (const encoding of encodings)
        for (const form of formNames)
          if (target.name === 'weir' || target.name === 'before' || (form === 'base64') === (encoding === 'base64'))
            large.push(await runLarge(target, { encoding, form, before, inputs: inputsOfLarge }));
  }
  return { calls, large };
}

const encodings = ['base64', 'float'] as const;
const formNames = ['base64', 'numbers'] as const;

async function startTargets({ command, folder, report, onClose }: StartOptions): Promise<readonly VectorTarget[]> {
  const binary = await findEnvoy({ env: process.env, report });
  const engine = await startPortProcess(new URL('./vectors-engine-process.ts', import.meta.url), { args: [] });
  onClose(engine.stop);
  const plain = await startPlainEnvoy({ binary, folder: join(folder, 'plain'), upstreamPorts: [engine.port] });
  onClose(plain.stop);
  const targets: VectorTarget[] = [local('plain', plain)];
  if (command.peer !== undefined) {
    const peer = await startPeer(command.peer, engine.port);
    onClose(peer.stop);
    targets.push({ ...local('peer', peer), key: process.env.PEER_KEY });
  }
  const roots = { before: command.against, weir: join(import.meta.dirname, '..') };
  for (const name of ['before', 'weir'] as const) {
    const root = roots[name];
    if (root === undefined) continue;
    const manifests = join(folder, name, 'manifests');
    await writeVectorManifests(manifests, engine.port);
    report(`starting Weir of ${resolve(root)}`);
    const data = join(folder, name, 'data');
    const { baseUrl, key, pid, stop } = await startWeir({ root: resolve(root), envoy: binary, manifests, data });
    onClose(stop);
    targets.push({ name, origin: baseUrl.origin, path: baseUrl.pathname.replace(/\/$/, ''), key, pid });
  }
  return targets;
}

const local = (name: TargetName, { port, pid }: { readonly port: number; readonly pid: number }): VectorTarget => ({
  ...{ name, pid, origin: `http://127.0.0.1:${port}`, path: '/v1', key: undefined },
});

const pidsOf = async ({ pid }: VectorTarget): Promise<readonly number[]> =>
  (await processTree(pid)).map((info) => info.pid);
const pssOf = async (target: VectorTarget): Promise<number> =>
  (await memoryOf(await pidsOf(target)))?.pssBytes ?? Number.NaN;

interface Asked {
  readonly form: Form;
  readonly encoding: 'float' | 'base64';
  readonly input: string | readonly string[];
}

/** One call, of which only the bytes are kept: reading the vectors would take more time than a gateway does. */
async function call(pool: Pool, { path, key }: VectorTarget, { form, encoding, input: asked }: Asked): Promise<number> {
  const body = JSON.stringify({ model: vectorModel(form), input: asked, encoding_format: encoding });
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const headers = { 'content-type': 'application/json', ...authorization };
  const answer = await pool.request({ method: 'POST', path: `${path}/embeddings`, headers, body });
  let bytes = body.length;
  for await (const piece of answer.body) bytes += (piece as Buffer).length;
  const least = (Array.isArray(asked) ? asked.length : 1) * dimensions * 5;
  if (answer.statusCode !== 200 || bytes < least) throw new Error(`status ${answer.statusCode}, ${bytes} bytes`);
  return bytes;
}

async function runCalls(
  target: VectorTarget,
  encoding: 'float' | 'base64',
): Promise<Pick<CallFigure, 'cpuMicroseconds' | 'p50Ms'>> {
  const pool = new Pool(target.origin, { connections: callers });
  const pids = await pidsOf(target);
  const times: number[] = [];
  const before = (await cpuMs(pids)) ?? Number.NaN;
  const caller = async (): Promise<void> => {
    for (let left = callsOfRound / callers; left > 0; left -= 1) {
      const began = performance.now();
      await call(pool, target, { form: 'base64', encoding, input });
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const used = ((await cpuMs(pids)) ?? Number.NaN) - before;
  await pool.close();
  return {
    cpuMicroseconds: (used * 1_000) / times.length,
    p50Ms: times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0,
  };
}

async function runLarge(
  target: VectorTarget,
  {
    before,
    inputs,
    ...asked
  }: Pick<LargeFigure, 'encoding' | 'form'> & { readonly before: number; readonly inputs: number },
): Promise<LargeFigure> {
  const pool = new Pool(target.origin, { connections: 1 });
  const pids = await pidsOf(target);
  let peak = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, (await memoryOf(pids))?.pssBytes ?? Number.NaN);
      await wait(memoryEveryMs);
    }
  })();
  const began = performance.now();
  const texts = Array.from({ length: inputs }, (_, at) => `${at} ${input}`);
  const bytes = await call(pool, target, { ...asked, input: texts });
  const ms = performance.now() - began;
  isOver = true;
  await watching;
  await pool.close();
  return { ...asked, target: target.name, ms, bytes, growth: (peak - before) / bytes };
}
