/**
 * The text of a key: `sk-weir-`, 43 base62 digits of 256 random bits, 6 base62 digits of their CRC-32.
 * The checksum lets a mistyped key be refused without a look-up, and the fixed shape
 * `sk-weir-[0-9A-Za-z]{49}` lets secret scanners find a leaked one.
 */
const prefix = 'sk-weir-';
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomBytes = 32;
const bodyWidth = 43; // 62^43 is just above 2^256
const checksumWidth = 6; // 62^6 is above 2^32
const checksumStart = prefix.length + bodyWidth;
const textLength = checksumStart + checksumWidth;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

const digitValues = new Int8Array(128).fill(-1);
for (let value = 0; value < digits.length; value += 1) digitValues[digits.charCodeAt(value)] = value;

/** Writes 32 random bytes as the text of a key; throws a RangeError on any other length. */
export function keyText(random: Uint8Array): string {
  if (random.length !== randomBytes) throw new RangeError(`A key is made of ${randomBytes} random bytes.`);
  const bits = random.reduce((total, byte) => (total << 8n) | BigInt(byte), 0n);
  const body = base62(bits, bodyWidth);
  return `${prefix}${body}${base62(BigInt(checksum(body, 0, bodyWidth)), checksumWidth)}`;
}

/**
 * True when a text has the shape of a key and its checksum holds. Any one changed character makes it false:
 * CRC-32 finds every error within 32 neighbouring bits. It runs for each request before anything is looked up,
 * so it allocates nothing.
 */
export function looksLikeKey(text: string): boolean {
  if (text.length !== textLength || !text.startsWith(prefix)) return false;
  let written = 0;
  for (let index = prefix.length; index < textLength; index += 1) {
    const value = digitValues[text.charCodeAt(index)] ?? -1;
    if (value < 0) return false;
    if (index >= checksumStart) written = written * digits.length + value;
  }
  return written === checksum(text, prefix.length, checksumStart);
}

function checksum(text: string, start: number, end: number): number {
  let crc = 0xffffffff;
  for (let index = start; index < end; index += 1) {
    crc = (crcTable[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
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
