/** Asks Backends for their models: each once, and one that is not well until it is. */
import type { Backend, Route } from '../../core/catalog.ts';
import type { Cause } from '../../core/cause.ts';
import { type Clock, every } from '../../core/clock.ts';
import type { Endpoints } from '../../core/endpoint.ts';
import type { EngineErrorReading } from '../../core/event.ts';
import { askModels, type ModelsAnswer } from '../../gateway/egress/ask-models.ts';

/** The newest answer of a Backend. */
export interface Probe {
  /** By `Clock.elapsed`. */
  readonly at: number;
  readonly answer: ModelsAnswer;
}

interface ProbesOptions {
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  readonly endpoints: Endpoints;
  /** Whether the last requests to a Backend failed. */
  readonly isFailing: (routes: readonly Route[]) => boolean;
  /** Reads the body of an engine's error. */
  readonly readError: (status: number, text: string) => EngineErrorReading;
  readonly ask?: typeof askModels;
}

export interface Probes {
  /** Follows the routes of a new catalog. */
  readonly follow: (routes: readonly Route[]) => void;
  /** The newest answer; undefined: it has not been asked, or has changed since. */
  readonly of: (cluster: string) => Probe | undefined;
  readonly close: () => void;
}

const lookEveryMs = 2_000;
/** Shortest time between two questions to a Backend that is not well. */
const askEveryMs = 20_000;
/** Most endpoints of a Backend that are asked, one after the other, until one answers. */
const maxEndpoints = 3;
/** Most Backends that are asked in one look. */
const maxAsked = 20;

/** The name of a cluster changes with its content, so a Backend that changes is asked again. */
export function watchBackends({ clock, endpoints, isFailing, readError, ask = askModels }: ProbesOptions): Probes {
  let followed: ReadonlyMap<string, readonly Route[]> = new Map();
  const probes = new Map<string, Probe>();
  const asking = new Set<string>();
  let turn = 0;

  const isDue = (name: string, routes: readonly Route[]): boolean => {
    const last = probes.get(name);
    if (asking.has(name) || endpoints.of(name).length === 0) return false;
    if (last === undefined) return true;
    return clock.elapsed() - last.at >= askEveryMs && (last.answer.kind === 'fails' || isFailing(routes));
  };

  async function probe(name: string, backend: Backend): Promise<void> {
    const all = endpoints.of(name);
    const from = (turn += 1) % all.length;
    asking.add(name);
    let answer: ModelsAnswer = { kind: 'unclear' };
    // One endpoint of several that fails is not the Backend.
    for (const { name: endpoint, authority } of [...all.slice(from), ...all.slice(0, from)].slice(0, maxEndpoints)) {
      answer = await ask(backend, { endpoint, authority, read: readError });
      if (answer.kind !== 'fails') break;
    }
    asking.delete(name);
    if (followed.has(name)) probes.set(name, { at: clock.elapsed(), answer });
  }

  const stop = every(clock, lookEveryMs, () => {
    const due = [...followed].filter(([name, routes]) => isDue(name, routes)).slice(0, maxAsked);
    for (const [name, [route]] of due) if (route !== undefined) void probe(name, route.backend);
  });

  return {
    follow: (routes) => {
      // A question past a forward proxy would say nothing about requests.
      const direct = routes.filter(({ backend }) => backend.cluster.proxy === undefined);
      followed = Map.groupBy(direct, ({ backend }) => backend.cluster.name);
      for (const name of probes.keys()) if (!followed.has(name)) probes.delete(name);
    },
    of: (cluster) => probes.get(cluster),
    close: stop,
  };
}

/** Causes that an answer to the question for models rules out. Requests may fail for other causes although it answers. */
export const ruledOut: ReadonlySet<Cause> = new Set<Cause>([
  'connection-refused',
  'connect-timeout',
  'no-route',
  'connect-failed',
  'certificate-expired',
  'certificate-unknown-authority',
  'certificate-other-name',
  'certificate-required',
  'no-tls',
  'tls-expected',
  'tls-failed',
  'credential-refused',
  'redirects',
  'not-an-api',
  'loading',
]);
