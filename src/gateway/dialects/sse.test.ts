import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseDecoder } from './sse.ts';

/** A decoder that returns the payloads of each push. */
function listingDecoder() {
  let payloads: string[] = [];
  const decoder = createSseDecoder({ payload: (data) => payloads.push(data) });
  const after = (run: () => void): readonly string[] => {
    payloads = [];
    run();
    return payloads;
  };
  return { push: (bytes: Uint8Array) => after(() => decoder.push(bytes)), end: () => after(decoder.end) };
}

const encoder = new TextEncoder();

/** Payloads of a stream that arrives in these pieces. */
function decode(pieces: readonly Uint8Array[]): readonly string[] {
  const decoder = listingDecoder();
  return [...pieces.flatMap((piece) => [...decoder.push(piece)]), ...decoder.end()];
}

const whole = (text: string): readonly string[] => decode([encoder.encode(text)]);

/** Text of any characters at all. The generator of fast-check for it takes a second to set up. */
const textOf = (maxLength: number) =>
  fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength })
    .map((codes) => String.fromCodePoint(...codes).toWellFormed());

function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const edges = [0, ...[...places].sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
}

const cases: readonly (readonly [rule: string, stream: string, payloads: readonly string[]])[] = [
  ['an event ends in a blank line', 'data: a\n\ndata: b\n\n', ['a', 'b']],
  ['lines may end in CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
  ['lines may end in CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
  ['line endings may be mixed', 'data: a\r\n\ndata: b\r\r\ndata: c\n\r', ['a', 'b', 'c']],
  ['CRLF is one line ending, not a line and a blank one', 'data: a\r\ndata: b\r\n\r\n', ['a\nb']],
  ['data lines of one event are joined by a line feed', 'data: a\ndata: b\ndata: c\n\n', ['a\nb\nc']],
  ['an empty data line is a line', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
  ['a data line without a colon is an empty line', 'data: a\ndata\ndata: b\n\n', ['a\n\nb']],
  ['a data line without a colon alone is an event', 'data\n\n', ['']],
  ['one space after the colon is not part of the value', 'data:a\n\ndata: b\n\ndata:  c\n\n', ['a', 'b', ' c']],
  ['a tab after the colon is', 'data:\ta\n\n', ['\ta']],
  ['only the first colon parts name and value', 'data: {"a":1}\n\n', ['{"a":1}']],
  ['comments are dropped', ': keep-alive\n\n: x\ndata: a\n: data: b\n\n:\n\n', ['a']],
  ['blank lines without data are no events', '\n\n\n\ndata: a\n\n\n\n', ['a']],
  ['event, id and retry are dropped', 'event: x\nid: 1\nretry: 5\ndata: a\n\nevent: ping\n\n', ['a']],
  ['a field that only begins like data is another field', 'database: a\ndata2: b\nDATA: c\n data: d\n\n', []],
  ['a byte order mark before the stream is dropped', '\u{FEFF}data: a\n\n', ['a']],
  ['a byte order mark later on is text', 'data: \u{FEFF}a\n\n\u{FEFF}data: b\n\n', ['\u{FEFF}a']],
  ['the last blank line may be missing', 'data: a\n\ndata: [DONE]\n', ['a', '[DONE]']],
  ['so may the last line ending', 'data: a\n\ndata: [DONE]', ['a', '[DONE]']],
  ['characters of every width survive', 'data: é€😀𝕏\n\n', ['é€😀𝕏']],
  [
    'characters that only look like line endings are text',
    'data: a\u2028b\u0085c\u000bd\n\n',
    ['a\u2028b\u0085c\u000bd'],
  ],
  ['an empty stream has no event', '', []],
];

describe('server-sent events (WHATWG HTML §9.2.6)', () => {
  it.each(cases)('%s', (_, stream, payloads) => {
    expect(whole(stream)).toEqual(payloads);
  });

  it.each(cases)('%s, cut at every byte', (_, stream, payloads) => {
    const bytes = encoder.encode(stream);
    for (let place = 0; place <= bytes.length; place += 1) {
      expect(decode(cutAt(bytes, [place])), `cut at ${place}`).toEqual(payloads);
    }
    expect(decode([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(payloads);
  });

  it('gives the same payloads however a stream is cut', () => {
    const value = fc
      .oneof(textOf(8), fc.constant('data: x'), fc.constant('[DONE]'))
      .map((text) => text.replace(/[\r\n]/g, ''));
    const line = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constantFrom('data: ', 'data:'), value).map((parts) => parts.join('')) },
      fc.constantFrom('', '', ': comment', 'event: a', 'data', 'id'),
    );
    const stream = fc
      .array(
        fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')).map((parts) => parts.join('')),
        { maxLength: 14 },
      )
      .map((lines) => lines.join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), (text, cuts) => {
        const bytes = encoder.encode(text);
        expect(
          decode(
            cutAt(
              bytes,
              cuts.map((cut) => cut % (bytes.length + 1)),
            ),
          ),
        ).toEqual(whole(text));
      }),
      { numRuns: 200 },
    );
  });

  it('decodes every payload that was framed, whatever it holds', () => {
    const payload = textOf(20)
      .filter((text) => text !== '')
      .map((text) => text.replace(/\r\n?/g, '\n'));
    fc.assert(
      // U+FFFD replaces a lone surrogate, which has no UTF-8.
      fc.property(fc.array(payload.map((text) => text.toWellFormed())), (payloads) => {
        const stream = payloads
          .map(
            (text) =>
              `${text
                .split('\n')
                .map((line) => `data: ${line}\n`)
                .join('')}\n`,
          )
          .join('');
        expect(whole(stream)).toEqual(payloads);
      }),
    );
  });

  it('returns an event with its blank line, and not before', () => {
    const decoder = listingDecoder();
    expect(decoder.push(encoder.encode('data: a\n'))).toEqual([]);
    expect(decoder.push(encoder.encode('\n'))).toEqual(['a']);
    // A carriage return ends a line by itself: the decoder does not wait for a line feed that may never come.
    expect(decoder.push(encoder.encode('data: b\r\r'))).toEqual(['b']);
    expect(decoder.push(encoder.encode('\ndata: c\n\n'))).toEqual(['c']);
  });

  it('puts a replacement character where bytes are not UTF-8, and goes on', () => {
    expect(
      decode([Uint8Array.of(0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a), encoder.encode('data: b\n\n')]),
    ).toEqual(['\u{FFFD}', 'b']);
  });

  it.each(['data: ', 'data: x\ndata: '])('fails on an event over its limit (%j)', (start) => {
    const decoder = listingDecoder();
    decoder.push(encoder.encode(start));
    const piece = encoder.encode('x'.repeat(1024 * 1024));
    expect(() => {
      for (let pushed = 0; pushed < 40; pushed += 1) decoder.push(piece);
    }).toThrow(RangeError);
  });

  it('takes a long event in small pieces in linear time', () => {
    const decoder = listingDecoder();
    decoder.push(encoder.encode('data: '));
    const piece = encoder.encode('x'.repeat(512));
    // 1 MB in 2,000 pieces: searching all of it with each piece would be 1 GB.
    for (let pushed = 0; pushed < 2000; pushed += 1) decoder.push(piece);
    expect(decoder.push(encoder.encode('\n\n'))[0]).toHaveLength(2000 * 512);
  });

  it.each(['data: a\n', 'data\n'])('fails on an event of thousands of lines (%j)', (line) => {
    const decoder = listingDecoder();
    expect(() => decoder.push(encoder.encode(line.repeat(10_000)))).toThrow(RangeError);
  });
});
