import { expect, it } from 'vitest';
import { bytesOfVectors, vectorsOfBytes } from './vector-reference.ts';

it('keeps each bit of a vector, little-endian', () => {
  const vectors = [Float32Array.of(1, -0, 1e-45), Float32Array.of(0.1, 3.4028234663852886e38, -2)];
  const bytes = bytesOfVectors(vectors);
  expect([...bytes.subarray(0, 4)]).toEqual([0, 0, 0x80, 0x3f]);
  expect(vectorsOfBytes(bytes, 3)).toEqual(vectors);
  // A database may hand out a part of a larger buffer, at any offset.
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  expect(vectorsOfBytes(shifted.subarray(3), 3)).toEqual(vectors);
});

it('reads no vector from an awaited reference', () => {
  expect(vectorsOfBytes(new Uint8Array(), 0)).toEqual([]);
});
