import { type Agent, fetch } from 'undici';
import type { Backend, Model } from '../../core/catalog.ts';
import { authorityOf, type HostPort } from '../../core/endpoint.ts';
import { createDirectAgent } from '../../gateway/egress/direct-agent.ts';

/** How long an engine may take to answer. */
const timeoutMs = 2_000;
/** Most models that are tried, and most endpoints of one backend. */
const maxModels = 16;
const maxEndpoints = 4;

/**
 * The first of these models with an engine that answers, for an example that works. Undefined: none of the first
 * sixteen models has one. Asks engines for their list of models, which costs nothing. A model that is not in `models`
 * counts as answering.
 */
export async function answeringModel(
  listed: readonly string[],
  models: ReadonlyMap<string, Model> | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const asked = new Map<string, Promise<boolean>>();
  const answers = (backend: Backend): Promise<boolean> => {
    return asked.getOrInsertComputed(backend.name, () => backendAnswers(backend, signal));
  };
  // All at once, so that several dead engines take no longer than one.
  const found = listed.slice(0, maxModels).map(async (id) => {
    const model = models?.get(id);
    if (model === undefined) return true;
    return (await Promise.all(model.routes.map(({ backend }) => answers(backend)))).includes(true);
  });
  const first = (await Promise.all(found)).indexOf(true);
  return first === -1 ? undefined : listed[first];
}

async function backendAnswers(backend: Backend, signal: AbortSignal): Promise<boolean> {
  const { endpoints, tls, proxy } = backend.cluster;
  // The endpoints of a Service or an InferencePool are known only inside the cluster, and those behind a proxy only there.
  if (endpoints.kind !== 'hosts' || proxy !== undefined) return true;
  const agent = createDirectAgent(tls, { timeoutMs });
  try {
    const asked = endpoints.hosts
      .slice(0, maxEndpoints)
      .map((host) => endpointAnswers(host, { backend, agent, signal }));
    return (await Promise.all(asked)).includes(true);
  } finally {
    await agent.destroy();
  }
}

/** Whether an engine answers and accepts the credentials. It need not have a list of models. */
async function endpointAnswers(
  host: HostPort,
  { backend, agent, signal }: { readonly backend: Backend; readonly agent: Agent; readonly signal: AbortSignal },
): Promise<boolean> {
  const scheme = backend.cluster.tls.mode === 'Disabled' ? 'http' : 'https';
  try {
    const response = await fetch(
      `${scheme}://${authorityOf(host, scheme)}${backend.path}/models${backend.query ?? ''}`,
      {
        headers: Object.fromEntries(backend.headers ?? []),
        redirect: 'manual',
        dispatcher: agent,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      },
    );
    await response.body?.cancel();
    return response.status !== 401 && response.status !== 403 && response.status < 500;
  } catch {
    return false;
  }
}
