/** What is known of the vectors of one route: of each endpoint, and which of them may get requests. */
import { isProvider, type Model, type Route } from '../../core/catalog.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { VectorsFault } from '../../core/observed-catalog.ts';
import type { VectorReference } from '../../core/vector-reference.ts';
import type { RouteOfModel, VectorsAnswer } from '../../gateway/core/ask-vectors.ts';
import {
  besideVerdict,
  type VectorBounds,
  type VectorVerdict,
  wrongLengthVerdict,
} from '../../gateway/core/compare-vectors.ts';

/** A place that is probed: an endpoint, or a provider as a whole, whose addresses are one service. */
export interface ProbedPlace {
  endpoint: Endpoint;
  /** Undefined until vectors have come and were compared. A later failure keeps it. */
  verdict: VectorVerdict | undefined;
  /** `VectorReference.since` of the reference that it was compared with. */
  judgedBy: number | undefined;
  /** Why the last probe failed. Undefined: it did not. */
  failure: string | undefined;
  /** Failures in a row. */
  failures: number;
  /** When it is probed next, by `Clock.elapsed`. */
  againAt: number;
  isAsked: boolean;
  /** Whether a probe has ended, in whatever way. */
  isTried: boolean;
}

/** A route of an embedding model. */
export interface RouteVectors extends RouteOfModel {
  model: Model;
  route: Route;
  /** Whether it is the only route of its model. */
  isOnly: boolean;
  /** By the name of the endpoint; one with the name `provider` for a provider. */
  readonly places: Map<string, ProbedPlace>;
}

const provider = 'provider';
const placeName = ({ route }: RouteOfModel, { name }: Pick<Endpoint, 'name'>): string =>
  isProvider(route.backend) ? provider : name;

/** The parts of a route that decide about its vectors, beside its cluster. A new credential is none. */
export const madeBy = ({ route: { upstreamModel, backend }, model }: RouteOfModel): string =>
  JSON.stringify([upstreamModel, backend.engine, backend.path, backend.query, model.embedding?.dimensions]);

/** Takes the present endpoints of a route. New ones are due at once; what was known of those that are gone is forgotten. */
export function takeEndpoints(of: RouteVectors, endpoints: readonly Endpoint[], now: number): void {
  const present = new Map(endpoints.map((endpoint) => [placeName(of, endpoint), endpoint]));
  for (const name of of.places.keys()) if (!present.has(name)) of.places.delete(name);
  for (const [name, endpoint] of present) {
    const place = of.places.get(name);
    if (place !== undefined) place.endpoint = endpoint;
    else {
      of.places.set(name, {
        ...{ endpoint, verdict: undefined, judgedBy: undefined, failure: undefined, failures: 0, againAt: now },
        ...{ isAsked: false, isTried: false },
      });
    }
  }
}

/** Whether a service need not wait for the first probes of a route: all have ended, in whatever way, or requests do not wait for them. */
export const isTriedOnce = ({ isOnly, places }: RouteVectors): boolean =>
  isOnly || [...places.values()].every(({ isTried }) => isTried);

/** Whether the vectors of a route are the reference of its model, or are awaited to be. */
export function isOwn(
  { route }: RouteOfModel,
  reference: Pick<VectorReference, 'routeId' | 'upstreamModel' | 'isAwaited'>,
): boolean {
  if (reference.routeId !== route.id) return false;
  return reference.isAwaited || reference.upstreamModel === route.upstreamModel;
}

/**
 * Whether a route serves before its first probe: there is no other route, and the reference is its own or will be. Nothing that it makes
 * could be mixed with the vectors of another one.
 */
function isAssumed(of: RouteVectors, reference: VectorReference | undefined): boolean {
  if (!of.isOnly || [...of.places.values()].some(({ verdict }) => verdict !== undefined)) return false;
  if (reference === undefined) return true;
  const hasSameLength = reference.isAwaited || reference.dimensions === of.model.embedding?.dimensions;
  return isOwn(of, reference) && hasSameLength;
}

/** Whether an endpoint of a route may get requests. */
export function admits(of: RouteVectors, reference: VectorReference | undefined, endpoint: string): boolean {
  const verdict = of.places.get(placeName(of, { name: endpoint }))?.verdict;
  return verdict === undefined ? isAssumed(of, reference) : verdict.kind === 'same';
}

/** Most endpoints that a message names. */
const maxNamed = 3;

/** Why requests do not get to some endpoints of a route, or to the route. Undefined: they do. */
export function vectorsFault(of: RouteVectors, reference: VectorReference | undefined): VectorsFault | undefined {
  const places = [...of.places.values()];
  const differing = places.filter(({ verdict }) => verdict?.kind === 'differs');
  const [first] = differing;
  if (first?.verdict?.kind === 'differs') {
    const isWhole = !places.some(({ verdict }) => verdict?.kind === 'same');
    const isChange = isWhole && reference !== undefined && isOwn(of, reference);
    const { finding, explanation } = first.verdict;
    const text = `${namesOf(of, differing)}: ${finding}; usually ${explanation}`;
    const whose = reference === undefined ? 'the model' : reference.routeId;
    if (!isChange) return { kind: 'differs', isWhole, text: `other vectors than those of ${whose}, ${text}` };
    return { kind: 'changed', isWhole, text: `other vectors than before under the same name, ${text}` };
  }
  if (places.length === 0 || places.some(({ verdict }) => verdict !== undefined) || isAssumed(of, reference)) {
    return undefined;
  }
  const failure = places.find((place) => place.failure !== undefined)?.failure;
  return {
    kind: 'unprobed',
    isWhole: true,
    text: failure === undefined ? 'not probed yet' : `not probed yet: ${failure}`,
  };
}

function namesOf(of: RouteOfModel, places: readonly ProbedPlace[]): string {
  if (isProvider(of.route.backend)) return 'the provider';
  const names = places.slice(0, maxNamed).map(({ endpoint }) => endpoint.name);
  const more = places.length - names.length;
  return `${names.length === 1 ? 'endpoint' : 'endpoints'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The verdict on an answer that cannot be the model's, whatever its reference is. Undefined: it can, or there are no vectors. */
export function faultOfAnswer(answer: VectorsAnswer, bounds: VectorBounds): VectorVerdict | undefined {
  if (answer.kind === 'failed') return undefined;
  if (answer.kind === 'wrong-length') return wrongLengthVerdict(answer.length, bounds);
  const { vectors, alone } = answer;
  const beside = alone && vectors[alone.index];
  return beside && besideVerdict({ beside, alone: alone.vector }, bounds);
}

/** The lowest cosine over the endpoints of a route. Undefined: there is none. */
export function lowestSimilarity({ places }: RouteVectors): number | undefined {
  const all = [...places.values()].flatMap(({ verdict }) => verdict?.lowest ?? []);
  return all.length === 0 ? undefined : Math.min(...all);
}
