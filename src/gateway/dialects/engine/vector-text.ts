/** Checks and converts single vectors, as engines write them: numbers as JSON, or little-endian float32 in base64. */

/** What a vector has to be, and how its caller wants it. */
export interface VectorForm {
  /** Length. */
  readonly dimensions: number;
  readonly encoding: 'float' | 'base64';
}

/** A vector as JSON text for its caller, or what is wrong with it, in words that hold nothing of it. */
export type VectorReading = { readonly text: string } | { readonly defect: string };

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
  const bytes = encoding === 'base64' ? Buffer.allocUnsafe(dimensions * 4) : undefined;
  let count = 0;
  skipBlanks(scan);
  while (scan.at < text.length) {
    const from = scan.at;
    const defect = scanNumber(scan);
    if (defect !== undefined) return { defect };
    if (count < dimensions) bytes?.writeFloatLE(Number(text.slice(from, scan.at)), count * 4);
    count += 1;
    skipBlanks(scan);
    if (scan.at === text.length) break;
    if (text.charCodeAt(scan.at) !== comma) return { defect: 'not a list of numbers' };
    scan.at += 1;
    skipBlanks(scan);
    if (scan.at === text.length) return { defect: 'not a list of numbers' };
  }
  const defect = defectOf({ count, dimensions, hasValue: scan.hasValue });
  if (defect !== undefined) return { defect };
  return { text: bytes === undefined ? `[${text}]` : `"${bytes.toString('base64')}"` };
}

/** Reads base64 of little-endian float32. A caller who wants numbers gets those that are exactly these float32. */
export function readBase64(text: string, { dimensions, encoding }: VectorForm): VectorReading {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length % 4 !== 0 || bytes.length !== sizeOfBase64(text)) return { defect: 'not base64 of float32' };
  const count = bytes.length / 4;
  const numbers: number[] = [];
  let hasValue = false;
  for (let at = 0; at < bytes.length; at += 4) {
    const value = bytes.readFloatLE(at);
    if (!Number.isFinite(value)) return { defect: 'a value that is not a finite number' };
    if (value !== 0) hasValue = true;
    if (encoding === 'float') numbers.push(value);
  }
  const defect = defectOf({ count, dimensions, hasValue });
  if (defect !== undefined) return { defect };
  // Engines may leave out the padding, or use another alphabet.
  return { text: encoding === 'float' ? JSON.stringify(numbers) : `"${bytes.toString('base64')}"` };
}

/** The bytes that base64 stands for, if all of its characters are base64's. */
function sizeOfBase64(text: string): number {
  const [digits = ''] = /^[A-Za-z0-9+/_-]*/.exec(text) ?? [];
  return /^={0,2}$/.test(text.slice(digits.length)) ? Math.floor((digits.length * 3) / 4) : -1;
}

/** The length in the defect of a vector that has another one than expected. Undefined: another defect. */
export function lengthInDefect(defect: string): number | undefined {
  const [, length] = /^a vector of length (\d+), expected \d+$/.exec(defect) ?? [];
  return length === undefined ? undefined : Number(length);
}

function defectOf(found: {
  readonly count: number;
  readonly dimensions: number;
  readonly hasValue: boolean;
}): string | undefined {
  const { count, dimensions, hasValue } = found;
  if (count !== dimensions) return `a vector of length ${count}, expected ${dimensions}`;
  return hasValue ? undefined : 'a vector of zeros';
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
