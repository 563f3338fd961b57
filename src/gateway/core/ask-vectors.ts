import type { Model, Route } from '../../core/catalog.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { ProbeVectors } from './compare-vectors.ts';

/** An embedding model and one of its routes. */
export interface RouteOfModel {
  readonly model: Model;
  readonly route: Route;
}

/**
 * What an endpoint answers to texts. `wrong-length`: vectors, and not of the length that the model declares. `failed`: no vectors; `why` is
 * for operators, on one line.
 */
export type VectorsAnswer =
  | {
      readonly kind: 'vectors';
      readonly vectors: ProbeVectors;
      /** The vector of one of the texts, embedded without the others. Absent: each text had a call of its own. */
      readonly alone?: { readonly index: number; readonly vector: Float32Array } | undefined;
    }
  | { readonly kind: 'wrong-length'; readonly length: number }
  | { readonly kind: 'failed'; readonly why: string };

/** Embeds texts on one endpoint of a route, as a call of a caller would. Never rejects. */
export type AskVectors = (
  of: RouteOfModel,
  ask: { readonly endpoint: Endpoint; readonly texts: readonly string[] },
) => Promise<VectorsAnswer>;
