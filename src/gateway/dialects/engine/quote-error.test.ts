import { describe, expect, it } from 'vitest';
import { quoteError } from './quote-error.ts';
import { chatErrors } from './read-error.ts';

const prompt =
  'Ärger mit "Zeile\n2" – patient John Doe, born 1970-01-01, 你好世界这是一个很长的私人句子了 a.b-c/d_e:f\\g';
const quoteOf = (message: string, content: unknown = prompt): string | undefined =>
  quoteError(message, {
    path: '/v1/chat/completions',
    body: JSON.stringify({ messages: [{ role: 'user', content }] }),
  });

const unicodeEscapes = (text: string): string =>
  text.replaceAll(/[^]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
const escapedBytes = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');

/** Ways in which an engine repeats the request. Each is masked wholly. */
const echoes: readonly (readonly [way: string, echo: string])[] = [
  ['whole', prompt],
  ['in part', 'patient John Doe'],
  ['with JSON escapes', JSON.stringify(prompt)],
  ['with JSON escapes, twice', JSON.stringify(JSON.stringify(prompt))],
  ['in upper case', prompt.toUpperCase()],
  ['in lower case', prompt.toLowerCase()],
  ['in unicode escapes', unicodeEscapes(prompt)],
  ['in unicode escapes that were escaped again', unicodeEscapes('patient John Doe').replaceAll('\\', '\\\\\\')],
  ['in braced escapes', unicodeEscapes('patient John Doe').replaceAll(/\\u(.{4})/g, '\\u{$1}')],
  ['in long escapes of Python', unicodeEscapes('patient John Doe').replaceAll(/\\u(.{4})/g, '\\U0000$1')],
  ['in escaped bytes', escapedBytes(prompt)],
  ['percent-encoded', encodeURIComponent(prompt)],
  ['in HTML entities', 'patient John Doe'.replaceAll(/./g, (char) => `&#${char.charCodeAt(0)};`)],
  [
    'in hexadecimal HTML entities',
    'John Doe, born'.replaceAll(/./g, (char) => `&#x${char.charCodeAt(0).toString(16)};`),
  ],
  ['split by line ends', 'pati\nent Jo\nhn Do\ne, bo\nrn'],
  ['split by spaces', 'patient John Doe'.replaceAll(/./g, '$& ')],
  ['split by punctuation', "['patient', 'John', 'Doe', 'born']"],
  ['without accents', 'Arger mit Zeile 2'],
  ['decomposed', prompt.normalize('NFD')],
  ['Chinese', '这是一个很长的私人句子了'],
  ['punctuation', 'a.b-c/d_e:f'],
  ['in the middle of a word', 'xpatient John Doex'],
];

describe('the sentence of an engine', () => {
  it.each(echoes)('shows nothing that it repeats of the request: %s', (_, echo) => {
    const quote = quoteOf(`Bad value ${echo} found`);
    expect(quote).toMatch(/^Bad value [^\p{L}\p{N}]*…[^\p{L}\p{N}]* found$|^Bad value x?….* ?found$/u);
    expect(quote).not.toMatch(/\d|doe|john|ärger|arger|zeile|世界|个|a\.b|\\[ux]/iu);
    // The twin: the same text is shown where the request does not have it.
    expect(quoteOf(`Bad value ${echo} found`, 'Hello')).not.toContain('…');
  });

  it('shows nothing of a text that the request has in parts', () => {
    const parts = [
      { type: 'text', text: 'patient' },
      { type: 'text', text: ' John Doe' },
    ];
    expect(quoteOf('Bad value: patient John Doe', parts)).toBe('Bad value: …');
  });

  it.each([
    ['a run of 12 characters', 'got "patient John"', 'got "…"'],
    ['no run of 11', 'got "ient Jo, born"', 'got "ient Jo, born"'],
    ['two runs', 'got patient John and born 1970-01-01', 'got … and …'],
  ])('masks %s', (_, message, quote) => {
    expect(quoteOf(message)).toBe(quote);
  });

  it('shows no credential, not even a part of it', () => {
    const headers = [
      ['authorization', 'Bearer sk-secret-0123456789'],
      ['api-key', 'tiny'],
    ] as const;
    const quote = (message: string) => quoteError(message, { headers, path: '/models?token=in-the-query' });
    expect(quote('Invalid key sk-secret-0123456789')).toBe('Invalid key …');
    expect(quote('Invalid key ending in 23456789')).toBe('Invalid key ending in …');
    expect(quote('Invalid key "tiny" or in-the-query')).toBe('Invalid key "…" or …');
  });

  it('is one line of at most 200 characters, whose control characters are escaped', () => {
    expect(quoteOf('Bad\n\u001B[31mred\u202Eder\u0000')).toBe('Bad\\n\\u001b[31mred\\u202eder\\u0000');
    expect(quoteOf(`${'x'.repeat(199)}😀 and more`)).toMatch(/^x{199}\uFFFD$/);
    expect(quoteOf(`${prompt.repeat(2)} is too much`)).toContain('is too much');
  });

  it('is not shown where nothing of it is left, nor for a request that is large', () => {
    expect([quoteOf(''), quoteOf(prompt), quoteOf(' \n')]).toEqual([undefined, undefined, undefined]);
    expect(quoteOf('No', 'x'.repeat(200_000))).toBeUndefined();
    expect(quoteOf('No', 'x'.repeat(100_000))).toBe('No');
  });

  it('is compared once for each character of the request, whatever both are', () => {
    expect(quoteOf('a'.repeat(1000), 'a'.repeat(100_000))).toBeUndefined();
  });

  it('is also found in a body that is bytes, and one that is no JSON', () => {
    const body = new TextEncoder().encode('--boundary\r\npatient John Doe\r\n--boundary--');
    expect(quoteError('Bad value: patient John Doe', { path: '/', body })).toBe('Bad value: …');
  });
});

const error = (message: string, facts: object = {}): string => JSON.stringify({ error: { message, ...facts } });

/** The sentence of an answer to a request with the content `prompt`. */
const sentences: readonly (readonly [status: number, body: string, sentence: string | undefined])[] = [
  [401, error('Incorrect API key provided', { code: 'invalid_api_key' }), 'Incorrect API key provided'],
  [402, 'Payment required', 'Payment required'],
  [404, '{"detail":"Not Found"}', 'Not Found'],
  [404, '{"object":"error","message":"The model `m` does not exist."}', 'The model `m` does not exist.'],
  [413, error(`Too large: ${prompt}`), 'Too large: …'],
  [429, error('Rate limit reached, try again in 3 s'), 'Rate limit reached, try again in 3 s'],
  [500, error(`Cannot serve "${prompt}"`), 'Cannot serve …'],
  [500, error('No', { metadata: { raw: '{"message":"Upstream has no memory"}' } }), 'No Upstream has no memory'],
  [502, '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>', '502 Bad Gateway'],
  [500, error("error parsing tool call: raw='what the model wrote', err=eof"), 'error parsing tool call:'],
  [500, error('Failed to parse input at pos 12: what the model wrote'), 'Failed to parse input at pos 12:'],
  [500, '', undefined],
  // Of those that refuse the request, only what our tables name.
  [400, error('Hello'), undefined],
  [422, error('Hello', { code: 'Hello', type: 'Hello' }), undefined],
  [400, error('Hello', { type: 'invalid_request_error' }), 'code invalid_request_error'],
  [400, error('Hello', { type: 'Hello', code: 'context_length_exceeded' }), 'code context_length_exceeded'],
  [400, error('Hello', { code: 'model_not_found' }), 'code model_not_found'],
  [400, error("Unsupported value of 'temperature'", { param: 'Hello' }), 'field temperature'],
  [422, '{"detail":[{"type":"value_error","loc":["body","tools",0],"msg":"Hello"}]}', 'code value_error, field tools'],
];

describe('the sentence in an error', () => {
  it.each(sentences)('%i %s: %s', (status, body, sentence) => {
    const asked = {
      path: '/v1/chat/completions',
      body: JSON.stringify({ messages: [{ role: 'user', content: prompt }] }),
    };
    expect(chatErrors.read(status, body, asked).said).toBe(sentence);
    // Without the request, nothing can be masked, so nothing is said.
    expect(chatErrors.read(status, body).said).toBeUndefined();
  });
});
