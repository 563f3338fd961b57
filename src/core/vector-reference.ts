/**
 * The vectors that all routes of an embedding model must make (docs/concepts/same-vectors.md), without the vectors: the row of the model.
 */
export interface VectorReferenceHead {
  readonly modelId: string;
  /** `Route.id` of the route that made the vectors, or is to make them. */
  readonly routeId: string;
  /** `Route.upstreamModel` at that time. Empty while `isAwaited`. */
  readonly upstreamModel: string;
  /** Digest of the texts. Vectors of other texts cannot be compared. Empty while `isAwaited`. */
  readonly texts: string;
  /** Length of a vector. 0 while `isAwaited`. */
  readonly dimensions: number;
  /** Milliseconds since the Unix epoch. Each change of the row has a later time. */
  readonly since: number;
  /** Whether an operator has accepted the vectors of the route, and no service has had them from there yet. */
  readonly isAwaited: boolean;
}

export interface VectorReference extends VectorReferenceHead {
  /** One for each text. Empty while `isAwaited`. */
  readonly vectors: readonly Float32Array[];
}

/** Vectors as bytes: float32, little-endian, one vector after the other. */
export function bytesOfVectors(vectors: readonly Float32Array[]): Uint8Array {
  const length = vectors.reduce((sum, vector) => sum + vector.length, 0);
  const view = new DataView(new ArrayBuffer(length * 4));
  let at = 0;
  for (const vector of vectors) {
    for (const value of vector) {
      view.setFloat32(at, value, true);
      at += 4;
    }
  }
  return new Uint8Array(view.buffer);
}

/** The reverse of `bytesOfVectors`. Bytes that are no whole vector at the end are left out. */
export function vectorsOfBytes(bytes: Uint8Array, dimensions: number): readonly Float32Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = dimensions === 0 ? 0 : Math.floor(bytes.byteLength / (4 * dimensions));
  return Array.from({ length: count }, (_, index) =>
    Float32Array.from({ length: dimensions }, (_value, at) => view.getFloat32((index * dimensions + at) * 4, true)),
  );
}
