import { isObject, parseJson } from '../../../core/json.ts';
import type { UpstreamCall } from '../../core/upstream.ts';

/** The parts of a call that an engine may repeat in its error: content, and credentials in headers and query. */
export type AskedCall = Pick<UpstreamCall, 'headers' | 'path'> & { readonly body?: UpstreamCall['body'] | undefined };

/** Maximum length of a quoted error, characters. */
const maxQuote = 200;
/** Characters that are compared with the request. More than are quoted, because masking shortens them. */
const maxCompared = 2 * maxQuote;
/** Errors about larger requests are not quoted, because the comparison would hold up others. */
const maxBodyBytes = 128 * 1024;
/** Shortest run of characters of the body, and of a secret, that is masked. */
const minRun = { body: 12, secret: 8 } as const;
/** Shorter values of headers are no secrets, and would mask half of a sentence. */
const minSecret = 4;

const mask = '…';

/**
 * What an engine says in its error, for operators: one line, with each run of characters that the call has replaced by
 * `…`, whatever its case, accents, escapes, spaces and punctuation. Undefined: nothing is to be quoted.
 */
export function quoteError(message: string, { headers = [], path, body = '' }: AskedCall): string | undefined {
  if (body.length > maxBodyBytes) return undefined;
  const said = Array.from(decoded(message.slice(0, 2 * maxCompared)).trim()).slice(0, maxCompared);
  const isMasked = said.map(() => false);
  const { raw, joined } = bodyTexts(typeof body === 'string' ? body : new TextDecoder().decode(body));
  const secrets = secretsOf(headers, path);
  const mark = (form: Form, asked: string, longest: number): void => {
    const text = form(asked);
    if (text.length >= minSecret) maskRuns({ said, isMasked, form }, text, Math.min(longest, text.length));
  };
  for (const form of [everything, letters]) {
    mark(form, raw, minRun.body);
    for (const secret of secrets) mark(form, secret, minRun.secret);
  }
  mark(letters, joined, minRun.body);
  // Spaces beside a mask stay.
  const isHidden = said.map((char, at) => {
    return isMasked[at] === true && (char.trim() !== '' || (isMasked[at - 1] === true && isMasked[at + 1] === true));
  });
  const shown = said.map((char, at) => (isHidden[at] !== true ? char : isHidden[at - 1] === true ? '' : mask));
  const quote = escaped(shown.join('')).slice(0, maxQuote).toWellFormed();
  return /[\p{L}\p{N}]/u.test(quote) ? quote : undefined;
}

/** The values of headers and of the query, decoded, without the word `Bearer`. */
function secretsOf(headers: NonNullable<AskedCall['headers']>, path: string): readonly string[] {
  const inQuery = [...new URLSearchParams(path.split('?')[1] ?? '').values()];
  return [...headers.map(([, value]) => value.replace(/^\w+ +/, '')), ...inQuery].map(decoded);
}

/** The body as it was written, and its texts alone, one after the other: an engine joins the parts of a message. */
function bodyTexts(body: string): Readonly<Record<'raw' | 'joined', string>> {
  let texts = '';
  const left: unknown[] = [parseJson(body)];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') texts += value;
    const items = Array.isArray(value) ? value : isObject(value) ? contentOf(value) : [];
    for (const item of items.toReversed()) left.push(item);
  }
  return { raw: decoded(body), joined: decoded(texts) };
}

/** The values of an object, without the names that stand between the parts of a text. */
const contentOf = ({ type: _, role: __, ...fields }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Object.values(fields);

/** Escapes of JSON, Python, JavaScript, HTML and URLs. Text that was escaped several times has several backslashes. */
const escapes =
  /\\+U([\da-fA-F]{8})|\\+u([\da-fA-F]{4})|\\+u\{([\da-fA-F]{1,6})\}|&#[xX]([\da-fA-F]{1,6});|&#(\d{1,7});|((?:\\+x[\da-fA-F]{2})+|(?:%[\da-fA-F]{2})+)|\\+([nrtbfv])|&(quot|amp|lt|gt|apos|nbsp);|\\+/g;
const entities: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" };

function decoded(text: string): string {
  // The two commonest escapes take no call each.
  const rest = text.replaceAll(String.raw`\"`, '"').replaceAll(String.raw`\n`, '\n');
  return rest.replace(escapes, (_, ...parts: (string | undefined)[]) => {
    const [long, short, braced, hex, decimal, bytes, blank, entity] = parts;
    const digits = long ?? short ?? braced ?? hex;
    if (digits !== undefined) return charOf(Number.parseInt(digits, 16));
    if (decimal !== undefined) return charOf(Number(decimal));
    if (bytes !== undefined) return Buffer.from(bytes.replace(/[^\da-fA-F]/g, ''), 'hex').toString();
    if (blank !== undefined) return blank === 'n' ? '\n' : ' ';
    return entity === undefined ? '' : (entities[entity] ?? ' ');
  });
}

/** A surrogate is half of a character: the next escape brings the other half. */
const charOf = (code: number): string => (code > 0x10_ff_ff ? '' : String.fromCodePoint(code));

type Form = (text: string) => string;

const everything: Form = (text) => text.toUpperCase().replace(/\s/g, ' ');
/** Finds text that was split, quoted again or written without accents. */
const letters: Form = (text) =>
  text
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');

interface Compared {
  readonly said: readonly string[];
  readonly isMasked: boolean[];
  readonly form: Form;
}

/** Marks the characters of each run of this length that `asked` has. */
function maskRuns({ said, isMasked, form }: Compared, asked: string, length: number): void {
  const units = said.flatMap((char, at) => Array.from(form(char), (unit) => ({ unit, at })));
  const compared = units.map(({ unit }) => unit).join('');
  // One place in the sentence for each place in its text: a character may take two.
  const places = units.flatMap(({ unit, at }) => Array.from(unit, () => at));
  const found = sharedRuns(compared, asked, length);
  if (found.size === 0) return;
  eachRun(compared, length, (_, from) => {
    const [first, last] = [places[from], places[from + length - 1]];
    if (first === undefined || last === undefined || !found.has(compared.slice(from, from + length))) return;
    isMasked.fill(true, first, last + 1);
  });
}

/**
 * The runs that both texts have. Reads the longer one once, with a rolling hash: to look for each of its runs in a set takes three
 * times as long, on the thread that serves requests.
 */
function sharedRuns(said: string, asked: string, length: number): ReadonlySet<string> {
  const wanted = new Map<number, Set<string>>();
  /** The hashes that are wanted, by their lower bits: most of a long text is ruled out by it. */
  const marks = new Uint8Array(0x1_00_00);
  eachRun(said, length, (hash, from) => {
    marks[hash & 0xff_ff] = 1;
    wanted.getOrInsertComputed(hash, () => new Set()).add(said.slice(from, from + length));
  });
  const found = new Set<string>();
  if (wanted.size === 0) return found;
  eachRun(asked, length, (hash, from) => {
    if (marks[hash & 0xff_ff] === 0) return;
    for (const run of wanted.get(hash) ?? []) if (!found.has(run) && asked.startsWith(run, from)) found.add(run);
  });
  return found;
}

function eachRun(text: string, length: number, visit: (hash: number, from: number) => void): void {
  const base = 0x01_00_01_93;
  let first = 1;
  for (let at = 0; at < length; at += 1) first = Math.imul(first, base);
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0;
    if (at >= length) hash = (hash - Math.imul(first, text.charCodeAt(at - length))) | 0;
    if (at >= length - 1) visit(hash, at - length + 1);
  }
}

/** Control characters, and those that hide or turn text, as escapes. */
function escaped(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === '\n' ? '\\n' : `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
