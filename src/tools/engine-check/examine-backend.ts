/** `weir doctor`: asks an endpoint of a Backend whether it is what the manifests say. */
import { fetch } from 'undici';
import * as z from 'zod';
import { type Backend, kindOfModel, type Model, type Route } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { type Cause, causes, causeText, ofConnection, ofTls, saidText } from '../../core/cause.ts';
import { type DeclaredRoute, entryFor, listDifference, listedNames } from '../../core/compare-models.ts';
import type { Check, Diagnosis } from '../../core/diagnosis.ts';
import { type EngineModel, runningWindow, windowInProps } from '../../core/model-list.ts';
import { figure, normOf } from '../../gateway/core/compare-vectors.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { askModels, type ModelsAnswer } from '../../gateway/egress/ask-models.ts';
import { createDirectAgent, directOrigin } from '../../gateway/egress/direct-agent.ts';
import { capabilitiesOf } from '../../gateway/engines/engines.ts';
import { connectEngine, type EngineAddress, type ProbeAnswer } from './ask-engine.ts';
import { checkEngine } from './check-engine.ts';
import { createStopwatch, speedText } from './stream-speed.ts';
import { probeVectors } from './vector-probes.ts';

interface Depth {
  /** `deep`: each declared capability is tried, which takes up to a minute for each route. */
  readonly depth: 'usual' | 'deep';
}

interface How extends Depth {
  readonly clock: Pick<Clock, 'elapsed'>;
}

interface ExamineOptions extends How {
  readonly backend: Backend;
  /** The routes to the Backend, each with its Model. */
  readonly routes: readonly { readonly model: Model; readonly route: Route }[];
  /** `address:port`, and the value of the Host header. */
  readonly endpoint: { readonly name: string; readonly authority: string };
}

const connectTimeoutMs = 5_000;
const windowTimeoutMs = 5_000;

/** Examines one endpoint. Never rejects: an engine that fails is a finding. */
export async function examineBackend({ backend, routes, endpoint, ...how }: ExamineOptions): Promise<Diagnosis> {
  const { tls, host } = backend.cluster;
  const { name, authority } = endpoint;
  const answer = await askModels(backend, { endpoint: name, authority, read: chatErrors.read });
  const checks = [...connectionChecks(backend, answer)];
  const dispatcher = createDirectAgent(tls, { timeoutMs: connectTimeoutMs });
  try {
    for (const one of answer.kind === 'fails' ? [] : routes) {
      const address: EngineAddress = {
        engine: backend.engine,
        base: `${directOrigin(tls, name)}${backend.path}`,
        model: one.route.upstreamModel,
        headers: [...(backend.headers ?? []), ['host', host ?? authority]],
        ...{ query: backend.query, dispatcher },
      };
      checks.push(...(await routeChecks(one, { answer, address, ...how })));
    }
  } finally {
    await dispatcher.destroy();
  }
  return { backend: backend.name, endpoint: name, checks };
}

const onTheWay = ['reachable', 'TLS', 'key', 'path'] as const;

/** The check on which a cause throws light; those before it have passed. */
function checkOf(cause: Cause): (typeof onTheWay)[number] {
  if (ofTls.has(cause)) return 'TLS';
  if (ofConnection.has(cause)) return 'reachable';
  return cause === 'credential-refused' || cause === 'no-quota' ? 'key' : 'path';
}

const bad = (check: string, note: string): Check => ({ check, found: 'bad', note });
const good = (check: string, note = ''): Check => ({ check, found: 'good', note });
const unclear = (check: string, note: string): Check => ({ check, found: 'unclear', note });

function connectionChecks({ cluster, headers = [] }: Backend, answer: ModelsAnswer): readonly Check[] {
  const failing = answer.kind === 'fails' ? checkOf(answer.cause) : undefined;
  const passed = onTheWay
    .slice(0, failing === undefined ? onTheWay.length : onTheWay.indexOf(failing))
    .filter((check) => (check === 'TLS' ? cluster.tls.mode !== 'Disabled' : check !== 'key' || headers.length > 0))
    .map((check) =>
      answer.kind === 'unclear' && (check === 'key' || check === 'path') ? unclear(check, noList) : good(check),
    );
  if (answer.kind !== 'fails' || failing === undefined) return passed;
  const { cause, status, said } = answer;
  return [...passed, bad(failing, `${causeText(cause, status)}${saidText(said)}. ${causes[cause].action}`)];
}

const noList = 'it has no list of models';

async function routeChecks(
  declared: DeclaredRoute & { readonly model: Model; readonly route: Route },
  { answer, ...how }: { readonly answer: ModelsAnswer; readonly address: EngineAddress } & How,
): Promise<readonly Check[]> {
  const models = answer.kind === 'lists' ? answer.models : undefined;
  const checks = await checksOfKind(declared, { models, ...how });
  return checks.map((one) => ({ ...one, check: `${declared.model.id}: ${one.check}` }));
}

async function checksOfKind(
  declared: DeclaredRoute & { readonly model: Model; readonly route: Route },
  {
    models,
    address,
    depth,
    clock,
  }: { readonly models: readonly EngineModel[] | undefined; readonly address: EngineAddress } & How,
): Promise<readonly Check[]> {
  switch (kindOfModel(declared.model)) {
    case 'embedding': {
      const vectors = await vectorsCheck(declared.model, address);
      return [modelCheck(declared, models, vectors.found === 'good'), vectors];
    }
    case 'rerank':
      return [modelCheck(declared, models, false)];
    case 'chat': {
      const stopwatch = createStopwatch(clock);
      const streamed = await connectEngine(address, stopwatch.output)({ stream: true, maxOutputTokens: 16 });
      return [
        modelCheck(declared, models, streamed.kind === 'answer'),
        await windowCheck(declared, models, address),
        ...streamChecks(streamed, stopwatch),
        ...(depth === 'deep' && streamed.kind === 'answer' ? await deepChecks(declared, address) : []),
      ];
    }
  }
}

/** Whether the engine makes vectors of the declared length. Whether they are those of other routes is a condition of the Model. */
async function vectorsCheck({ contextLength, embedding }: Model, address: EngineAddress): Promise<Check> {
  const check = 'vectors';
  const probed = await probeVectors(address, contextLength);
  if (probed.kind === 'failed') return bad(check, probed.why);
  const { dimensions, vectors } = probed;
  const declared = embedding?.dimensions;
  if (dimensions !== declared)
    return bad(check, `${dimensions} numbers, spec.embedding.dimensions declares ${declared}`);
  const norms = vectors.map(normOf);
  return good(check, `${dimensions} numbers, norm ${figure(Math.min(...norms))} to ${figure(Math.max(...norms))}`);
}

/** The model stands in the list under its name. An engine may serve a name that it does not list. */
function modelCheck(declared: DeclaredRoute, models: readonly EngineModel[] | undefined, answers: boolean): Check {
  const check = 'upstreamModel';
  if (models === undefined) return unclear(check, noList);
  const difference = listDifference(models, declared);
  if (difference?.of !== 'model') return good(check, entryFor(models, declared) ? '' : 'not listed, as with providers');
  return answers ? unclear(check, `${difference.text}, but is served`) : bad(check, difference.text);
}

async function windowCheck(
  declared: DeclaredRoute,
  models: readonly EngineModel[] | undefined,
  address: EngineAddress,
): Promise<Check> {
  const entry = models && entryFor(models, declared);
  const window = (entry && runningWindow(entry)) ?? (await askWindow(address));
  const { contextLength } = declared.model;
  const check = 'contextLength';
  if (window === undefined) return unclear(check, `${contextLength}; the engine does not tell`);
  if (window < contextLength) return bad(check, `${contextLength} is more than the engine's ${window}`);
  return good(check, window === contextLength ? `${window}` : `${contextLength} of ${window}`);
}

const loadedModel = z.object({ name: z.string(), context_length: z.int().positive().optional() });
const loaded = z.object({ models: z.array(loadedModel) });

/** The window of a running engine whose list of models does not tell it: llama.cpp, and Ollama for a loaded model. */
async function askWindow(address: EngineAddress): Promise<number | undefined> {
  if (address.engine === 'llamacpp') return windowInProps(await read(address, '/props'));
  if (address.engine !== 'ollama') return undefined;
  const found = loaded.safeParse(await read(address, '/api/ps')).data?.models ?? [];
  const names = listedNames(address.engine, address.model);
  return found.find(({ name }) => names.includes(name))?.context_length;
}

/** Undefined: it has no such path, or does not answer in time. */
async function read({ base, headers, dispatcher }: EngineAddress, path: string): Promise<unknown> {
  try {
    const response = await fetch(`${new URL(base).origin}${path}`, {
      headers: Object.fromEntries(headers),
      redirect: 'manual',
      ...(dispatcher && { dispatcher }),
      signal: AbortSignal.timeout(windowTimeoutMs),
    });
    if (response.status === 200) return await response.json();
    await response.body?.cancel();
  } catch {
    // Without an answer the window is not known.
  }
  return undefined;
}

function streamChecks(
  streamed: ProbeAnswer,
  stopwatch: Pick<ReturnType<typeof createStopwatch>, 'speed'>,
): readonly Check[] {
  if (streamed.kind === 'broken') return [bad('stream', streamed.why)];
  if (streamed.kind === 'refused') {
    const { status, reading } = streamed;
    const { cause, engineError } = reading;
    return [bad('stream', cause === undefined ? `${engineError} (HTTP ${status})` : causeText(cause, status))];
  }
  const { usage } = streamed;
  const speed = stopwatch.speed(usage?.completionTokens);
  return [
    speed === undefined ? good('stream') : { ...good('stream', speedText(speed)), speed },
    usage === undefined
      ? unclear('usage', 'no counts: bills and token limits are estimates')
      : good('usage', `${usage.promptTokens} + ${usage.completionTokens} tokens`),
  ];
}

/** What `weir engine check` finds of the capabilities that the route declares. */
async function deepChecks(
  { model: { contextLength }, route }: { readonly model: Model; readonly route: Route },
  address: EngineAddress,
): Promise<readonly Check[]> {
  const declared = capabilitiesOf(route);
  const report = await checkEngine(address, { declared, contextLength, progress: () => undefined });
  const found = { yes: good, no: bad, unclear } as const;
  return report.lines.flatMap((line) => (line.declared === true ? [found[line.verdict](line.name, line.note)] : []));
}
