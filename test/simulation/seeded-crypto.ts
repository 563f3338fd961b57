import { Buffer } from 'node:buffer';
import crypto, { KeyObject, verify } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { seededChance } from '../programmable-engine/chance.ts';

const bytesOf = (source: ArrayBuffer | ArrayBufferView): Uint8Array =>
  source instanceof ArrayBuffer
    ? new Uint8Array(source)
    : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);

/**
 * Runs work in which keys, ids and secrets follow from a seed: the store draws them from `node:crypto`, where no service
 * has a reason to inject chance. Signatures of Ed25519 are verified in this thread: virtual time waits for no other one.
 */
export async function withSeededCrypto<Result>(seed: number, work: () => Promise<Result>): Promise<Result> {
  const { randomBytes, randomUUID } = crypto;
  const chance = seededChance(seed ^ 0xc0de);
  const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => Math.floor(chance() * 256)));
  Object.assign(crypto, {
    randomBytes: bytes,
    randomUUID: () =>
      bytes(16)
        .toString('hex')
        .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5'),
  });
  syncBuiltinESMExports();
  const { subtle } = globalThis.crypto;
  const verifyHere: typeof subtle.verify = async (_, key, signature, data) =>
    verify(undefined, bytesOf(data), KeyObject.from(key), bytesOf(signature));
  Object.assign(subtle, { verify: verifyHere });
  try {
    return await work();
  } finally {
    Object.assign(crypto, { randomBytes, randomUUID });
    Reflect.deleteProperty(subtle, 'verify');
    syncBuiltinESMExports();
  }
}
