import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent, HeldVector, ReadStep } from '../../../core/event.ts';
import { createVectorsReader, readVectorsAs, type VectorsOptions } from './read-vectors.ts';
import { readBase64, readNumbers } from './vector-text.ts';

const options: VectorsOptions = { inputs: 2, first: 0, dimensions: 3, encoding: 'float' };
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Reads an answer in pieces. */
function read(pieces: readonly Uint8Array[], how: Partial<VectorsOptions> = {}): ReadStep {
  const reader = createVectorsReader({ ...options, ...how });
  for (const piece of pieces) {
    const { state } = reader.push(piece);
    if (state !== 'open') return { events: [], state };
  }
  return reader.end();
}

const base64 = (...values: readonly number[]): string =>
  Buffer.from(Float32Array.from(values).buffer).toString('base64');
const float32 = (...values: readonly number[]): HeldVector => ({
  form: 'float32',
  bytes: Buffer.from(Float32Array.from(values).buffer),
});
const numbers = (text: string): HeldVector => ({ form: 'numbers', bytes: Buffer.from(text) });
const vectorsIn = (events: readonly AnswerEvent[]) => events.find((event) => event.type === 'vectors');

describe('an answer that is cut anywhere', () => {
  const text =
    '{\n "object": "list", "model":"bge/ö", "data": [ {"object":"embedding","embedding" :\n [0.25, -1e-3,\t7] , "index" : 1},' +
    `{"index":0,"object":"embedding","embedding":"${base64(1, 2, 3)}"} ],"usage":{"prompt_tokens":4,"total_tokens":4}}`;

  it('reads the same at every byte', () => {
    const bytes = bytesOf(text);
    const whole = read([bytes]);
    expect(whole).toEqual({
      state: 'complete',
      events: [
        { type: 'vectors', choice: 0, first: 0, vectors: [float32(1, 2, 3), numbers('[0.25, -1e-3,\t7]')] },
        { type: 'usage', usage: expect.objectContaining({ promptTokens: 4, completionTokens: 0 }) as unknown },
        { type: 'finish', choice: 0, reason: 'stop' },
      ],
    });
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(read([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(whole);
    }
    expect(read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toEqual(whole);
  });

  it('is truncated inside of a vector, and malformed after it', () => {
    const bytes = bytesOf(text);
    expect(read([bytes.subarray(0, text.indexOf('-1e-3') + 1)]).state).toMatchObject({ kind: 'truncated' });
    expect(read([bytes.subarray(0, bytes.length - 1)]).state).toMatchObject({ kind: 'malformed' });
  });
});

describe('numbers', () => {
  const form = { dimensions: 3, encoding: 'float' } as const;
  const finite = fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));

  it('are passed on exactly as the engine wrote them, and become the nearest float32', () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 20 }), (values) => {
        fc.pre(values.some((value) => value !== 0));
        const text = values.map(String).join(', ');
        const dimensions = values.length;
        expect(readNumbers(text, { dimensions, encoding: 'float' })).toEqual(numbers(`[${text}]`));
        expect(readNumbers(text, { dimensions, encoding: 'base64' })).toEqual(float32(...values));
        expect(readBase64(base64(...values), { dimensions })).toEqual(float32(...values));
      }),
    );
  });

  it('are numbers of JSON exactly when JSON says so', () => {
    const part = fc.constantFrom('-', '0', '1', '23', '.', 'e', 'E', '+', '5', ' ', ',', 'n', '00');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const text = parts.join('');
        const parsed: unknown = (() => {
          try {
            return JSON.parse(`[${text}]`);
          } catch {
            return undefined;
          }
        })();
        const values = Array.isArray(parsed) ? (parsed as readonly number[]).map(Math.fround) : [];
        const isGood = values.length > 0 && values.every(Number.isFinite) && values.some((value) => value !== 0);
        expect('bytes' in readNumbers(text, { dimensions: values.length, encoding: 'float' })).toBe(isGood);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['null,null,null', 'null instead of a number'],
    ['1,NaN,3', 'a value that is not a finite number'],
    ['1,-Infinity,3', 'a value that is not a finite number'],
    ['1,1e400,3', 'a value that is not a finite number'],
    ['1,1e39,3', 'a value that is not a finite number'],
    [`1,1${'0'.repeat(60)},3`, 'a value that is not a finite number'],
    ['0,-0.0,0e5', 'a vector of zeros'],
    ['1e-60,0,0', 'a vector of zeros'],
    ['1,2', 'a vector of length 2, expected 3'],
    ['1,2,3,4', 'a vector of length 4, expected 3'],
    ['', 'a vector of length 0, expected 3'],
    ['[1,2,3', 'not a list of numbers'],
    ['"1",2,3', 'not a list of numbers'],
    ['1,2,', 'not a list of numbers'],
    ['1 2,3', 'not a list of numbers'],
  ])('are no vector: %s', (text, defect) => {
    expect(readNumbers(text, form)).toMatchObject({ defect });
    expect(readNumbers(text, { ...form, encoding: 'base64' })).toMatchObject({ defect });
  });
});

describe('base64', () => {
  const form = { dimensions: 2, encoding: 'base64' } as const;
  it.each([
    [base64(1, 2).replaceAll('=', ''), base64(1, 2)],
    [base64(1, 2).slice(0, 4), undefined],
    ['not base64!', undefined],
    [base64(1, Number.NaN), undefined],
    [base64(1, Infinity), undefined],
    [base64(0, 0), undefined],
    [base64(1, 2, 3), undefined],
  ])('%s', (text, expected) => {
    const reading = readBase64(text, form);
    expect('bytes' in reading ? Buffer.from(reading.bytes).toString('base64') : undefined).toBe(expected);
  });

  it('may be written with escapes and line feeds', () => {
    const values = [0.1, -5.5e7, 3];
    const escaped = base64(...values)
      .replaceAll('/', String.raw`\/`)
      .replace(/^(.{4})/, String.raw`$1\n`);
    const { events, state } = read([bytesOf(`{"data":[{"embedding":"${escaped}"}]}`)], {
      inputs: 1,
      encoding: 'base64',
    });
    expect([state, vectorsIn(events)]).toMatchObject(['complete', { vectors: [float32(...values)] }]);
  });
});

describe('the limits of an answer', () => {
  it('are those of its inputs', () => {
    const endless = bytesOf(`{"data":[{"embedding":[${'1,'.repeat(1_000_000)}`);
    expect(read([endless], { inputs: 1 }).state).toMatchObject({ kind: 'too-large' });
  });

  it('are JSON’s content types', () => {
    const types = ['application/json', 'Application/JSON; charset=utf-8', 'text/html', 'text/event-stream'];
    expect(types.map((type) => readVectorsAs(type, options) !== undefined)).toEqual([true, true, false, false]);
  });
});

it.each([
  [{ prompt_tokens: 3, total_tokens: 3 }, 3],
  [{ prompt_tokens: 0, total_tokens: 8 }, 8],
  [{ prompt_tokens: 7 }, 7],
  [{}, undefined],
  [undefined, undefined],
])('usage %j', (usage, tokens) => {
  const answer = { data: [{ index: 0, embedding: [1, 2, 3] }], usage };
  const { events } = read([bytesOf(JSON.stringify(answer))], { inputs: 1 });
  const found = events.find((event) => event.type === 'usage');
  expect(found?.usage.promptTokens).toBe(tokens);
});
