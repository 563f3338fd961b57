import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { tokenPrefix } from '../core/service-account.ts';

/**
 * The text of a key: `sk-weir-`, 43 base62 digits of 256 random bits, 6 base62 digits of their CRC-32. The checksum
 * shows a mistyped key without a look-up. Secret scanners find a leaked key by the fixed shape
 * `sk-weir-[0-9A-Za-z]{49}`. The token of a service account has the same form with a prefix of its own, as long as that
 * of a key, so that neither is taken for the other.
 */
const prefix = 'sk-weir-';
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyBytes = 32;
const bodyWidth = 43; // 62^43 is just above 2^256
const checksumWidth = 6; // 62^6 is above 2^32
const checksumStart = prefix.length + bodyWidth;
const textLength = checksumStart + checksumWidth;

const digitValues = new Int8Array(128).fill(-1);
for (let value = 0; value < digits.length; value += 1) digitValues[digits.charCodeAt(value)] = value;

/** Writes 32 random bytes as the text of a key; throws a RangeError on any other length. */
export function keyText(random: Uint8Array): string {
  return textOf(random, prefix);
}

function textOf(random: Uint8Array, beginning: string): string {
  if (random.length !== keyBytes) throw new RangeError(`A key needs ${keyBytes} random bytes.`);
  const bits = random.reduce((total, byte) => (total << 8n) | BigInt(byte), 0n);
  const body = base62(bits, bodyWidth);
  return `${beginning}${body}${base62(BigInt(crc32(body)), checksumWidth)}`;
}

/**
 * True when a text has the shape of a key and its checksum holds. Any one changed character makes it false:
 * CRC-32 finds every error within 32 neighbouring bits.
 */
export function looksLikeKey(text: string): boolean {
  return hasForm(text, prefix);
}

/** Like `looksLikeKey`, for the token of a service account. */
export function looksLikeToken(text: string): boolean {
  return hasForm(text, tokenPrefix);
}

function hasForm(text: string, beginning: string): boolean {
  if (text.length !== textLength || !text.startsWith(beginning)) return false;
  let written = 0;
  for (let index = prefix.length; index < textLength; index += 1) {
    const value = digitValues[text.charCodeAt(index)] ?? -1;
    if (value < 0) return false;
    if (index >= checksumStart) written = written * digits.length + value;
  }
  return written === crc32(text.slice(prefix.length, checksumStart));
}

function base62(value: bigint, width: number): string {
  let rest = value;
  let text = '';
  for (let written = 0; written < width; written += 1) {
    text = digits.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

const keptLength = prefix.length + 4;

/** The beginning of the text of a key or a token, which is stored so that people recognise it. It has 24 of the 256 random bits. */
export function keptPrefix(text: string): string {
  return text.slice(0, keptLength);
}

/** The text of a new key. It is shown to its owner once; only the hash is ever stored. */
export function newKey(): string {
  return keyText(randomBytes(keyBytes));
}

/** The text of the token of a new service account. It is shown once; only the hash is ever stored. */
export function newToken(): string {
  return textOf(randomBytes(keyBytes), tokenPrefix);
}

/** The text of a key, derived from the secret of the database. Every process gets the same text for the same `subject`. */
export function derivedKey(subject: string, sharedSecret: string): string {
  return keyText(createHmac('sha256', sharedSecret).update(subject).digest());
}

/**
 * The SHA-256, in lowercase hex, by which a key is stored and found. A fast hash is enough:
 * the text carries 256 random bits, so there is nothing to guess.
 */
export function hashKey(text: string): string {
  return hash('sha256', text, 'hex');
}
