import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findEnvoy } from '../src/programs/local/find-envoy.ts';
import { type AnswerShape, shapePath } from './answers.ts';
import { type ChatRequest, chatRequest, requestOfEngine } from './chat-request.ts';
import type { BenchCommand } from './command-line.ts';
import { startEngines } from './engine-processes.ts';
import { type EventReceiver, startEventReceiver } from './events.ts';
import { type LoadPool, openLoadPool } from './load-pool.ts';
import { heldShape } from './over-time.ts';
import { startPeer } from './peer.ts';
import { startPlainEnvoy } from './plain-envoy.ts';
import { profileEnvironment } from './profile-run.ts';
import { shapeOf, shapes } from './scenarios.ts';
import { envoyConcurrency, type Target } from './target.ts';
import { startTokenCaller } from './token-caller.ts';
import { type Collector, startCollector, tracedTargets } from './tracing.ts';
import { exactModelId, modelId, tokenizersFolder, writeExactModel, writeManifests } from './weir-manifests.ts';
import { startWeir, type WeirProcess } from './weir-process.ts';

export type WeirTarget = Omit<Target, 'request'> &
  Pick<WeirProcess, 'stop' | 'metrics' | 'startMs'> & {
    readonly request: (...given: readonly [...Parameters<Target['request']>, key?: string]) => ChatRequest;
  };

/** All that a measurement needs: load, engines, and the gateways in the order in which a round takes them. */
export interface Gateways {
  readonly envoy: string;
  readonly enginePort: number;
  readonly pool: LoadPool;
  readonly direct: Target;
  readonly plain: Target;
  /** This checkout. */
  readonly weir: WeirTarget | undefined;
  readonly targets: readonly Target[];
  readonly collector: Collector | undefined;
  readonly receiver: EventReceiver | undefined;
  readonly benchPids: readonly number[];
}

interface StartOptions {
  /** An empty folder, which the caller removes. */
  readonly folder: string;
  readonly report: (line: string) => void;
  /** Registers what ends a program; the last one is to be called first. */
  readonly onClose: (close: () => Promise<void>) => void;
}

const root = join(import.meta.dirname, '..');

/** The folder of the profiles of a run. */
export const profilesIn = (folder: string): string => join(folder, 'profiles');

export async function startGateways(command: BenchCommand, options: StartOptions): Promise<Gateways> {
  const { folder, report, onClose } = options;
  const envoy = await findEnvoy({ env: process.env, report });
  // On a small machine one thread and one engine are enough, and more would only take the gateways' time.
  const helpers = Math.max(1, Math.floor(availableParallelism() / 4));
  const engines = await startEngines(helpers);
  onClose(engines.stop);
  const pool = openLoadPool(helpers);
  onClose(pool.close);
  const benchPids = [process.pid, ...engines.pids];

  const passthrough = (name: 'direct' | 'plain', port: number): Target => ({
    name,
    address: { host: '127.0.0.1', port },
    request: (shape, stream, prompt) =>
      requestOfEngine({ path: shapePath(shape), model: modelId(shape), stream, prompt }),
    benchPids,
  });
  const slow = command.kind === 'over-time' ? [heldShape(command.overTime)] : [];
  const common = { ...options, envoy, enginePort: engines.port, benchPids, shapes: [...shapes, ...slow] };
  const before =
    command.against === undefined
      ? undefined
      : await startWeirTarget({
          ...common,
          ...{ name: 'before', root: resolve(command.against), folder: join(folder, 'before'), env: {} },
        });
  const env = {
    ...(command.kind === 'profile' && profileEnvironment(profilesIn(folder))),
    // All slow streams come from one address.
    ...(command.kind === 'over-time' && { WEIR_CONNECTIONS_PER_ADDRESS: '0' }),
  };
  const caller = command.kind === 'tokens' ? await startTokenCaller(folder) : undefined;
  if (caller !== undefined) onClose(caller.stop);
  const own = {
    ...common,
    name: 'weir',
    root,
    env: { ...env, ...caller?.environment },
    issuer: caller?.issuer,
  } as const;
  const weir = command.withWeir ? await startWeirTarget(own) : undefined;
  const withToken = weir && caller && tokenTarget(weir, caller.token);
  const traced: Target[] = [];
  const collector = command.withTracing ? await startCollector() : undefined;
  if (collector !== undefined) {
    onClose(collector.stop);
    for (const { name, oneIn } of tracedTargets) {
      const place = { name, root, folder: join(folder, name) };
      traced.push(await startWeirTarget({ ...common, ...place, env: collector.environment(oneIn) }));
    }
  }

  const receiver = command.withEvents ? await startEventReceiver(folder) : undefined;
  if (receiver !== undefined) onClose(receiver.stop);
  const place = { name: 'events', root, folder: join(folder, 'events') } as const;
  const sending = receiver && (await startWeirTarget({ ...common, ...place, env: receiver.environment }));

  // Plain Envoy gets as many threads as Weir's, whatever that one was told.
  const concurrency = weir && (await envoyConcurrency(weir));
  const plainEnvoy = await startPlainEnvoy({
    ...{ binary: envoy, folder: join(folder, 'plain'), upstreamPorts: [engines.port] },
    ...(concurrency === undefined ? {} : { concurrency }),
  });
  onClose(plainEnvoy.stop);
  const plain = { ...passthrough('plain', plainEnvoy.port), pid: plainEnvoy.pid };
  const peer = command.peer === undefined ? undefined : await startPeerTarget(command.peer, common);
  return {
    ...{ envoy, enginePort: engines.port, pool, plain, weir, collector, receiver, benchPids },
    direct: passthrough('direct', engines.port),
    targets: [plain, peer, before, weir, withToken, ...traced, sending].filter((one) => one !== undefined),
  };
}

/** The same gateway with the same requests, of another caller. */
function tokenTarget(weir: WeirTarget, token: string): Target {
  return {
    ...weir,
    name: 'token',
    request: (shape, stream, prompt) => weir.request(shape, stream, prompt, token),
  };
}

async function startPeerTarget(
  command: string,
  { enginePort, benchPids, report, onClose }: StartOptions & Pick<Gateways, 'enginePort' | 'benchPids'>,
): Promise<Target> {
  report('starting the peer');
  const { port, pid, stop } = await startPeer(command, enginePort);
  onClose(stop);
  const key = process.env.PEER_KEY;
  return {
    ...{ name: 'peer', address: { host: '127.0.0.1', port }, pid, benchPids },
    request: (shape, stream, prompt) => chatRequest({ path: '/v1', model: modelId(shape), stream, key, prompt }),
  };
}

interface WeirTargetOptions extends StartOptions {
  readonly name: 'before' | 'weir' | 'events' | (typeof tracedTargets)[number]['name'];
  /** The checkout that is started. */
  readonly root: string;
  readonly envoy: string;
  readonly enginePort: number;
  readonly benchPids: readonly number[];
  /** The answers that it has models for. */
  readonly shapes: readonly AnswerShape[];
  readonly env: Readonly<Record<string, string>>;
  readonly issuer?: string | undefined;
}

async function startWeirTarget(options: WeirTargetOptions): Promise<WeirTarget> {
  const { name, envoy, folder, enginePort, benchPids, report, onClose } = options;
  const manifests = join(folder, 'manifests');
  await writeManifests(manifests, enginePort, options.shapes);
  report(`starting Weir${name === 'before' ? ` of ${options.root}` : name === 'weir' ? '' : `, ${name}`}`);
  const env = { WEIR_RESPONSES: 'stateless', WEIR_TOKENIZERS: tokenizersFolder, ...options.env };
  const { root: checkout, issuer } = options;
  const weir = await startWeir({ root: checkout, envoy, manifests, data: join(folder, 'data'), env, issuer });
  onClose(weir.stop);
  report(`Weir was ready after ${(weir.startMs / 1000).toFixed(1)} s`);
  return {
    ...{ name, pid: weir.pid, benchPids, stop: weir.stop, metrics: weir.metrics, startMs: weir.startMs },
    address: { host: weir.baseUrl.hostname, port: Number(weir.baseUrl.port) },
    request: (shape, stream, prompt, key = weir.key) =>
      chatRequest({
        ...{ path: weir.baseUrl.pathname.replace(/\/$/, ''), stream, key, prompt },
        model: prompt?.exact === true ? exactModelId(shape) : modelId(shape),
      }),
    serveExact: async () => {
      await writeExactModel(manifests, shapeOf.together);
      await served(weir, exactModelId(shapeOf.together));
    },
  };
}

const servedTimeoutMs = 20_000;

async function served({ baseUrl, key }: WeirProcess, model: string): Promise<void> {
  const deadline = performance.now() + servedTimeoutMs;
  const headers = { authorization: `Bearer ${key}` };
  for (;;) {
    const answer = await fetch(`${baseUrl.href.replace(/\/$/, '')}/models`, { headers });
    if ((await answer.text()).includes(`"${model}"`)) return;
    if (performance.now() > deadline) throw new Error(`Weir does not serve ${model}.`);
    await wait(200);
  }
}
