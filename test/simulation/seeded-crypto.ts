import { Buffer } from 'node:buffer';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { seededChance } from '../programmable-engine/chance.ts';

/**
 * Runs work in which keys, ids and secrets follow from a seed: the store draws them from `node:crypto`, where no service
 * has a reason to inject chance.
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
  try {
    return await work();
  } finally {
    Object.assign(crypto, { randomBytes, randomUUID });
    syncBuiltinESMExports();
  }
}
