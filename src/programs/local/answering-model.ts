import { type Backend, kindOfModel, type Model } from '../../core/catalog.ts';
import { causeText } from '../../core/cause.ts';
import { authorityOf, type HostPort } from '../../core/endpoint.ts';
import type { EngineErrorReading } from '../../core/event.ts';
import { hostInUrl } from '../../core/address.ts';
import { askModels, type ModelsAnswer } from '../../gateway/egress/ask-models.ts';
import { pause } from '../../process/clock.ts';

/** How long engines may take to answer, all together: the operator waits. */
const timeoutMs = 1_000;
/** Most models that are tried, and most endpoints of one backend. */
const maxModels = 16;
const maxEndpoints = 4;

/** What the engines of models answer. */
export interface FirstProbe {
  /** The first model with an engine that answers, for an example that works; one for chat if there is any. Undefined: there is none. */
  readonly answering: string | undefined;
  /** Why no engine of a model can serve it, as far as the engines have answered in time. */
  readonly faults: ReadonlyMap<string, string>;
}

/**
 * Asks the engines of the first sixteen models for their list of models, which costs nothing. A model that is not in
 * `models` counts as answering.
 */
export async function firstProbe(
  ids: readonly string[],
  models: ReadonlyMap<string, Model> | undefined,
  signal: AbortSignal,
): Promise<FirstProbe> {
  const late = pause(timeoutMs, signal).then((): ModelsAnswer => ({ kind: 'unclear' }));
  const asked = new Map<string, Promise<ModelsAnswer>>();
  const ask = (backend: Backend): Promise<ModelsAnswer> => {
    const known = asked.get(backend.name) ?? Promise.race([askBackend(backend), late]);
    asked.set(backend.name, known);
    return known;
  };
  // All at once, so that several dead engines take no longer than one.
  const found = await Promise.all(
    ids.slice(0, maxModels).map(async (id) => {
      const routes = models?.get(id)?.routes ?? [];
      const answers = await Promise.all(routes.map(({ backend }) => ask(backend)));
      const texts = answers.flatMap((answer, at) =>
        answer.kind === 'fails' ? [`${routes[at]?.backend.name} ${causeText(answer.cause, answer.status)}`] : [],
      );
      const isAnswering = answers.length === 0 || answers.some(({ kind }) => kind === 'lists');
      return { id, isAnswering, fault: texts.length > 0 && texts.length === routes.length ? texts[0] : undefined };
    }),
  );
  const firstOf = (some: typeof found): string | undefined =>
    (some.find(({ isAnswering }) => isAnswering) ?? some.find(({ fault }) => fault === undefined))?.id;
  const chat = found.filter(({ id }) => kindOfModel(models?.get(id) ?? {}) === 'chat');
  return {
    answering: firstOf(chat) ?? firstOf(found),
    faults: new Map(found.flatMap(({ id, fault }) => (fault === undefined ? [] : [[id, fault] as const]))),
  };
}

/** One of several endpoints that fails is not the backend. */
async function askBackend(backend: Backend): Promise<ModelsAnswer> {
  const { endpoints, proxy } = backend.cluster;
  // The endpoints of a Service or an InferencePool are known only inside the cluster, and those behind a proxy only there.
  if (endpoints.kind !== 'hosts' || proxy !== undefined) return { kind: 'lists' };
  const answers = await Promise.all(endpoints.hosts.slice(0, maxEndpoints).map((host) => askHost(backend, host)));
  return answers.find(({ kind }) => kind !== 'fails') ?? answers[0] ?? { kind: 'unclear' };
}

function askHost(backend: Backend, host: HostPort): Promise<ModelsAnswer> {
  const authority = authorityOf(host, backend.cluster.tls.mode === 'Disabled' ? 'http' : 'https');
  return askModels(backend, { endpoint: `${hostInUrl(host.host)}:${host.port}`, authority, read: byStatus });
}

const byStatus = (status: number) =>
  ({ engineError: status === 401 || status === 403 ? 'account' : 'other' }) as const satisfies EngineErrorReading;
