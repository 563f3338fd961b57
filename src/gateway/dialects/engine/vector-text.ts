/** Checks and converts single vectors, as engines write them: numbers as JSON, or little-endian float32 in base64. */
import type { HeldVector } from '../../../core/event.ts';

/** What a vector has to be, and how its caller wants it. */
export interface VectorForm {
  /** Length. */
  readonly dimensions: number;
  readonly encoding: 'float' | 'base64';
}

/** A vector, or what is wrong with it, in words that hold nothing of it. `length`: it has this length, and should have another one. */
export type VectorReading = HeldVector | VectorDefect;
interface VectorDefect {
  readonly defect: string;
  readonly length?: number;
}

/** A number with so many characters, and no exponent, is within the range of float32 whatever its digits. */
const plainLength = 32;

const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const dot = 0x2e;
const comma = 0x2c;
const plus = 0x2b;
const lowerE = 0x65;

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** The state of a scan over the numbers of a list. */
interface NumberScan {
  readonly text: string;
  at: number;
  /** Whether a number so far is not zero. */
  hasValue: boolean;
}

/**
 * Reads the numbers between the brackets of a JSON list. For a caller who wants numbers, the engine's own text is passed on: it is
 * checked character by character, and no number is made of it. For base64, each number becomes the nearest float32 once.
 */
export function readNumbers(text: string, { dimensions, encoding }: VectorForm): VectorReading {
  const scan: NumberScan = { text, at: 0, hasValue: false };
  const bytes = Buffer.allocUnsafeSlow(encoding === 'base64' ? dimensions * 4 : text.length + 2);
  let count = 0;
  skipBlanks(scan);
  while (scan.at < text.length) {
    const from = scan.at;
    const defect = scanNumber(scan);
    if (defect !== undefined) return { defect };
    if (encoding === 'base64' && count < dimensions) bytes.writeFloatLE(Number(text.slice(from, scan.at)), count * 4);
    count += 1;
    skipBlanks(scan);
    if (scan.at === text.length) break;
    if (text.charCodeAt(scan.at) !== comma) return { defect: 'not a list of numbers' };
    scan.at += 1;
    skipBlanks(scan);
    if (scan.at === text.length) return { defect: 'not a list of numbers' };
  }
  const defect = defectOf({ count, dimensions, hasValue: scan.hasValue });
  if (defect !== undefined) return defect;
  if (encoding === 'float') bytes.write(`[${text}]`, 'latin1');
  return { form: encoding === 'float' ? 'numbers' : 'float32', bytes };
}

/** Reads base64 of little-endian float32. Engines may leave out the padding, or use another alphabet. */
export function readBase64(text: string, { dimensions }: Pick<VectorForm, 'dimensions'>): VectorReading {
  const size = sizeOfBase64(text);
  if (size < 0 || size % 4 !== 0) return { defect: 'not base64 of float32' };
  const bytes = Buffer.allocUnsafeSlow(size);
  if (bytes.write(text, 'base64') !== size) return { defect: 'not base64 of float32' };
  let hasValue = false;
  for (let at = 0; at < size; at += 4) {
    const value = bytes.readFloatLE(at);
    if (!Number.isFinite(value)) return { defect: 'a value that is not a finite number' };
    if (value !== 0) hasValue = true;
  }
  return defectOf({ count: size / 4, dimensions, hasValue }) ?? { form: 'float32', bytes };
}

/** The bytes that base64 stands for, if all of its characters are base64's. */
function sizeOfBase64(text: string): number {
  const [digits = ''] = /^[A-Za-z0-9+/_-]*/.exec(text) ?? [];
  return /^={0,2}$/.test(text.slice(digits.length)) ? Math.floor((digits.length * 3) / 4) : -1;
}

function defectOf(found: {
  readonly count: number;
  readonly dimensions: number;
  readonly hasValue: boolean;
}): VectorDefect | undefined {
  const { count, dimensions, hasValue } = found;
  if (count !== dimensions) return { defect: `a vector of length ${count}, expected ${dimensions}`, length: count };
  return hasValue ? undefined : { defect: 'a vector of zeros' };
}

function skipBlanks(scan: NumberScan): void {
  while (isBlank(scan.text.charCodeAt(scan.at))) scan.at += 1;
}

/** Passes over one number of JSON (RFC 8259 §6). Returns what is wrong with it. */
function scanNumber(scan: NumberScan): string | undefined {
  const { text } = scan;
  const from = scan.at;
  const whole = text.charCodeAt(from) === minus ? from + 1 : from;
  let at = passDigits(text, whole);
  if (at === whole || (at > whole + 1 && text.charCodeAt(whole) === zero)) return defectAt(text, from);
  if (text.charCodeAt(at) === dot) {
    const fraction = at + 1;
    at = passDigits(text, fraction);
    if (at === fraction) return defectAt(text, from);
  }
  if ((text.charCodeAt(at) | 0x20) !== lowerE && at - from <= plainLength) {
    scan.at = at;
    if (!scan.hasValue) scan.hasValue = /[1-9]/.test(text.slice(from, at));
    return undefined;
  }
  if ((text.charCodeAt(at) | 0x20) === lowerE) {
    const sign = text.charCodeAt(at + 1);
    const exponent = sign === minus || sign === plus ? at + 2 : at + 1;
    at = passDigits(text, exponent);
    if (at === exponent) return defectAt(text, from);
  }
  scan.at = at;
  const value = Math.fround(Number(text.slice(from, at)));
  if (!Number.isFinite(value)) return 'a value that is not a finite number';
  if (value !== 0) scan.hasValue = true;
  return undefined;
}

function passDigits(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code >= zero && code <= nine; code = text.charCodeAt(at)) at += 1;
  return at;
}

/** What stands in place of a number. */
function defectAt(text: string, at: number): string {
  if (text.startsWith('null', at)) return 'null instead of a number';
  if (/^-?(?:NaN|Infinity|inf)/i.test(text.slice(at, at + 9))) return 'a value that is not a finite number';
  return 'not a list of numbers';
}
