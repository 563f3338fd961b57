/** `weir doctor`: asks an endpoint of a Backend whether it is what the manifests say. */
import type { Backend, Model, Route } from '../../core/catalog.ts';
import { type Cause, causes, causeText, ofConnection, ofTls } from '../../core/cause.ts';
import { type DeclaredRoute, entryFor, listDifference } from '../../core/compare-models.ts';
import type { Check, Diagnosis } from '../../core/diagnosis.ts';
import { runningWindow } from '../../core/model-list.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { askModels, type ModelsAnswer } from '../../gateway/egress/ask-models.ts';
import { createDirectAgent, directOrigin } from '../../gateway/egress/direct-agent.ts';
import { capabilitiesOf } from '../../gateway/engines/engines.ts';
import { connectEngine, type EngineAddress, type ProbeAnswer } from './ask-engine.ts';
import { askWindow } from './ask-window.ts';
import { checkEngine } from './check-engine.ts';

interface ExamineOptions {
  readonly backend: Backend;
  /** The routes to the Backend, each with its Model. */
  readonly routes: readonly { readonly model: Model; readonly route: Route }[];
  /** `address:port`, and the value of the Host header. */
  readonly endpoint: { readonly name: string; readonly authority: string };
  /** `deep`: each declared capability is tried, which takes up to a minute for each route. */
  readonly depth: 'usual' | 'deep';
}

const connectTimeoutMs = 5_000;

/** Examines one endpoint. Never rejects: an engine that fails is a finding. */
export async function examineBackend({ backend, routes, endpoint, depth }: ExamineOptions): Promise<Diagnosis> {
  const { tls, host } = backend.cluster;
  const { name, authority } = endpoint;
  const answer = await askModels(backend, { endpoint: name, authority, read: chatErrors.read });
  const checks: Check[] = [...connectionChecks(backend, answer)];
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
      checks.push(...(await routeChecks(one, { answer, address, depth })));
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

function connectionChecks({ cluster, headers = [] }: Backend, answer: ModelsAnswer): readonly Check[] {
  const failing = answer.kind === 'fails' ? checkOf(answer.cause) : undefined;
  const until = failing === undefined ? onTheWay.length : onTheWay.indexOf(failing);
  const notes = { reachable: '', TLS: '', key: '', path: 'lists its models' };
  const passed = onTheWay.slice(0, until).flatMap((check): readonly Check[] => {
    if (check === 'TLS' && cluster.tls.mode === 'Disabled') return [];
    if (check === 'key' && headers.length === 0) return [];
    if (check !== 'path' && (check !== 'key' || answer.kind !== 'unclear'))
      return [{ check, found: 'good', note: notes[check] }];
    return answer.kind === 'lists'
      ? [{ check, found: 'good', note: notes[check] }]
      : [{ check, found: 'unclear', note: 'it has no list of models' }];
  });
  if (answer.kind !== 'fails' || failing === undefined) return passed;
  const { cause, status } = answer;
  return [...passed, { check: failing, found: 'bad', note: `${causeText(cause, status)}. ${causes[cause].action}` }];
}

async function routeChecks(
  { model, route }: DeclaredRoute & { readonly model: Model; readonly route: Route },
  {
    answer,
    address,
    depth,
  }: { readonly answer: ModelsAnswer; readonly address: EngineAddress } & Pick<ExamineOptions, 'depth'>,
): Promise<readonly Check[]> {
  const of = (check: string): string => `${model.id}: ${check}`;
  const ask = connectEngine(address);
  const streamed = await ask({ stream: true, maxOutputTokens: 16 });
  const checks = [
    ...listChecks({ model, route }, answer, streamed),
    await windowCheck({ model, route }, answer, address),
    ...streamChecks(streamed),
  ];
  if (depth === 'deep' && streamed.kind === 'answer') checks.push(...(await deepChecks({ model, route }, address)));
  return checks.map((one) => ({ ...one, check: of(one.check) }));
}

/** The model stands in the list under its name. An engine may serve a name that it does not list. */
function listChecks(declared: DeclaredRoute, answer: ModelsAnswer, streamed: ProbeAnswer): readonly Check[] {
  const models = answer.kind === 'lists' ? answer.models : undefined;
  const check = 'upstreamModel';
  if (models === undefined) return [{ check, found: 'unclear', note: 'it has no list of models' }];
  const difference = listDifference(models, declared);
  if (difference?.of === 'model') {
    const isServed = streamed.kind === 'answer';
    return [
      { check, found: isServed ? 'unclear' : 'bad', note: difference.text + (isServed ? ', but is served' : '') },
    ];
  }
  return [
    { check, found: 'good', note: entryFor(models, declared) === undefined ? 'not listed, as with providers' : '' },
  ];
}

async function windowCheck(declared: DeclaredRoute, answer: ModelsAnswer, address: EngineAddress): Promise<Check> {
  const entry = answer.kind === 'lists' && answer.models !== undefined ? entryFor(answer.models, declared) : undefined;
  const window = (entry && runningWindow(entry)) ?? (await askWindow(address));
  const { contextLength } = declared.model;
  const check = 'contextLength';
  if (window === undefined) return { check, found: 'unclear', note: `${contextLength}; the engine does not tell` };
  if (window < contextLength)
    return { check, found: 'bad', note: `${contextLength} is more than the engine's ${window}` };
  return { check, found: 'good', note: window === contextLength ? `${window}` : `${contextLength} of ${window}` };
}

function streamChecks(streamed: ProbeAnswer): readonly Check[] {
  switch (streamed.kind) {
    case 'broken':
      return [{ check: 'stream', found: 'bad', note: streamed.why }];
    case 'refused': {
      const { status, reading } = streamed;
      const why =
        reading.cause === undefined ? `${reading.engineError} (HTTP ${status})` : causeText(reading.cause, status);
      return [{ check: 'stream', found: 'bad', note: why }];
    }
    case 'answer': {
      const { usage } = streamed;
      const counted = usage === undefined ? undefined : `${usage.promptTokens} + ${usage.completionTokens} tokens`;
      return [
        { check: 'stream', found: 'good', note: '' },
        {
          check: 'usage',
          found: usage === undefined ? 'unclear' : 'good',
          note: counted ?? 'no counts: bills and token limits are estimates',
        },
      ];
    }
  }
}

/** What `weir engine check` finds of the capabilities that the route declares. */
async function deepChecks(
  { model, route }: { readonly model: Model; readonly route: Route },
  address: EngineAddress,
): Promise<readonly Check[]> {
  const report = await checkEngine(address, {
    declared: capabilitiesOf(route),
    contextLength: model.contextLength,
    progress: () => undefined,
  });
  const found = { yes: 'good', no: 'bad', unclear: 'unclear' } as const;
  const lines = report.lines.filter(({ declared }) => declared === true);
  return lines.map(({ name, verdict, note }) => ({ check: name, found: found[verdict], note }));
}
