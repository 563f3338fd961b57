/**
 * HalfSipHash-2-4 with 64 bits of output, over one number of up to 53 bits: who does not have the key learns nothing from
 * the digest, not even by trying inputs. https://github.com/veorq/SipHash/blob/master/halfsiphash.c
 */
export type DigestKey = readonly [low: number, high: number];

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

interface State {
  v0: number;
  v1: number;
  v2: number;
  v3: number;
}

function rounds(state: State, count: number): void {
  let { v0, v1, v2, v3 } = state;
  for (let round = 0; round < count; round += 1) {
    v0 = (v0 + v1) | 0;
    v1 = rotate(v1, 5) ^ v0;
    v0 = rotate(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotate(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotate(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotate(v1, 13) ^ v2;
    v2 = rotate(v2, 16);
  }
  Object.assign(state, { v0, v1, v2, v3 });
}

function absorb(state: State, word: number): void {
  state.v3 ^= word;
  rounds(state, 2);
  state.v0 ^= word;
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');

/** Sixteen hexadecimal digits. */
export function keyedDigest([low, high]: DigestKey, value: number): string {
  const state: State = { v0: low, v1: high ^ 0xee, v2: 0x6c796765 ^ low, v3: 0x74656462 ^ high };
  absorb(state, value | 0);
  absorb(state, Math.floor(value / 2 ** 32) | 0);
  // The last word holds the length, eight bytes.
  absorb(state, 8 << 24);
  state.v2 ^= 0xee;
  rounds(state, 4);
  const first = state.v1 ^ state.v3;
  state.v1 ^= 0xdd;
  rounds(state, 4);
  return hex(first) + hex(state.v1 ^ state.v3);
}

/** A key out of a secret text. */
export function keyFrom(secret: string): DigestKey {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < secret.length; index += 1) {
    const unit = secret.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(rotate(high, 7) + unit, 0x9e3779b1);
  }
  return [low, high];
}
