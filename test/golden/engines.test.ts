/**
 * What real engines said, byte for byte: `engines/<engine>-<version>/<case>.capture.json`, written by `npm run record:vllm`.
 * `<case>.events.json` is what we read, `<case>.out.sse` or `.json` what a caller gets, `<case>.error.json` how an error is read.
 * `npm run golden:write` writes these, to be reviewed.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chatErrors } from '../../src/gateway/dialects/engine/read-error.ts';
import { cutPlaces } from '../support/sweep.ts';
import { askOf, bytesOf, type Capture, capturesRoot, readCaptures } from './captures.ts';
import { type Kind, printReading, read, type Reading, readerOf, write } from './read-answers.ts';

const captures = readCaptures();
const kindOf = ({ contentType }: Capture): Kind => (contentType.startsWith('text/event-stream') ? 'sse' : 'json');
const answers = captures.filter(({ capture: { status } }) => status === 200);
const errors = captures.filter(({ capture: { status } }) => status !== 200);
const produced = new Set<string>();

const readAs = (capture: Capture, pieces: readonly Uint8Array[]): Reading =>
  read(readerOf(kindOf(capture), askOf(capture)), pieces);

async function expectGolden(folder: string, file: string, text: string): Promise<void> {
  await expect(text).toMatchFileSnapshot(join(capturesRoot, folder, file));
}

/** Answers that their engine broke off: `transformers serve` fails on a call that it cannot read, with an error that is not JSON. */
const broken = new Set(['transformers-5.19/tool-unread-stream']);

/** Bytes from the beginning in which every single cut is tried; behind them, all cuts at once. */
const cutBytes = 8_192;

describe('recorded answers of engines', () => {
  it('are there', () => {
    expect(answers.length).toBeGreaterThan(10);
    expect(errors.length).toBeGreaterThan(3);
  });

  it.each(answers)('$folder/$name is read, and written for a caller', async ({ folder, name, capture }) => {
    const kind = kindOf(capture);
    const reading = readAs(
      capture,
      capture.pieces.map(({ text }) => Buffer.from(text)),
    );
    await expectGolden(folder, `${name}.events.json`, printReading(reading));
    await expectGolden(folder, `${name}.out.${kind}`, write(reading, kind));
    expect(reading.end === 'complete').toBe(!broken.has(`${folder}/${name}`));
    expect(write(reading, kind)).not.toMatch(/vllm|stop_reason|token_ids|kv_transfer|created_cache|matched_stop|weight_version|chatcmpl-[0-9a-f]{16}/);
  });

  it.each(answers)('$folder/$name reads the same cut in two, and byte by byte', ({ capture }) => {
    const bytes = bytesOf(capture);
    const expected = printReading(readAs(capture, [bytes]));
    for (const place of cutPlaces(bytes, cutBytes)) {
      const reading = printReading(readAs(capture, [bytes.subarray(0, place), bytes.subarray(place)]));
      if (reading !== expected) expect(reading, `cut at ${place}`).toBe(expected);
    }
    expect(printReading(readAs(capture, [...bytes].map((byte) => Uint8Array.of(byte))))).toBe(expected);
  });

  it.each(errors)('$folder/$name is read as an error', async ({ folder, name, capture }) => {
    const reading = chatErrors.read(capture.status, bytesOf(capture).toString());
    await expectGolden(folder, `${name}.error.json`, `${JSON.stringify(reading)}\n`);
  });
});

it('has no golden that no capture produces', () => {
  for (const { folder, name, capture } of captures) {
    const kinds = capture.status === 200 ? [`events.json`, `out.${kindOf(capture)}`] : ['error.json'];
    for (const kind of ['capture.json', ...kinds]) produced.add(join(folder, `${name}.${kind}`));
  }
  const files = readdirSync(capturesRoot).flatMap((folder) =>
    readdirSync(join(capturesRoot, folder)).map((file) => join(folder, file)),
  );
  expect(files.filter((file) => !produced.has(file))).toEqual([]);
});
