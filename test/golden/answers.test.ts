/**
 * Engines' answers, recorded in shape: `<case>.sse` or `<case>.json` is what an engine sends, `<case>.<kind>.events.json`
 * what we read, `<case>.<kind>.out.sse` or `.json` what a caller gets. `<case>.<kind>.ask.json` says what the caller had
 * asked, where that matters. Adding a case is adding a file; `npm run golden:write` writes the rest, to be reviewed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent, Logprobs } from '../../src/core/event.ts';
import { cutPlaces } from '../support/sweep.ts';
import { openGoldenFolder } from './golden-files.ts';
import { type Ask, type Kind, printReading, read, type Reading, readerOf, write } from './read-answers.ts';

const folder = openGoldenFolder('answers');
const cases = (['sse', 'json'] as const).flatMap((kind) => folder.cases(`.${kind}`).map((name) => [name, kind] as const));
const produced = new Set<string>();

function askOf(name: string, kind: Kind): Ask {
  const file = `${name}.${kind}.ask.json`;
  const usual: Ask = { choices: 1, tools: ['get_weather', 'get_time'] };
  if (!existsSync(folder.path(file))) return usual;
  produced.add(file);
  return { ...usual, ...(JSON.parse(readFileSync(folder.path(file), 'utf8')) as Partial<Ask>) };
}

/** Where tags are looked for, only the sum of deltas is certain: which of them held a tag depends on how bytes arrive. */
function sumDeltas({ events, end }: Reading): Reading {
  const sum = events.reduce((deltas, event) => deltas + ('deltas' in event ? event.deltas : 0), 0);
  const [first, ...rest] = events.map((event) => ('deltas' in event ? { ...event, deltas: 0 } : event));
  return { events: first !== undefined && 'deltas' in first ? [{ ...first, deltas: sum }, ...rest] : events, end };
}

const input = (name: string, kind: Kind): Buffer => readFileSync(folder.path(`${name}.${kind}`));
const readWhole = (name: string, kind: Kind): Reading => read(readerOf(kind, askOf(name, kind)), [input(name, kind)]);

async function expectGolden(file: string, text: string): Promise<void> {
  produced.add(file);
  await expect(text).toMatchFileSnapshot(folder.path(file));
}

describe('what engines answer', () => {
  it.each(cases)('%s.%s reads as its events and writes as its output', async (name, kind) => {
    const reading = readWhole(name, kind);
    await expectGolden(`${name}.${kind}.events.json`, printReading(reading));
    // A JSON answer that failed is nothing a caller sees.
    if (kind === 'sse' || reading.end === 'complete') await expectGolden(`${name}.${kind}.out.${kind}`, write(reading, kind));
  });

  it.each(cases)('%s.%s reads the same cut in two, and byte by byte', (name, kind) => {
    const ask = askOf(name, kind);
    const bytes = input(name, kind);
    const print = (reading: Reading): string => printReading(ask.tags === undefined ? reading : sumDeltas(reading));
    const expected = print(readWhole(name, kind));
    for (const place of cutPlaces(bytes)) {
      const reading = read(readerOf(kind, ask), [bytes.subarray(0, place), bytes.subarray(place)]);
      if (print(reading) !== expected) expect(print(reading), `cut at ${place}`).toBe(expected);
    }
    expect(print(read(readerOf(kind, ask), [...bytes].map((byte) => Uint8Array.of(byte))))).toBe(expected);
  });

  it.each(folder.cases('.sse'))('%s.sse reads the same with every other line ending', (name) => {
    const expected = printReading(readWhole(name, 'sse'));
    for (const ending of ['\r\n', '\r']) {
      const bytes = Buffer.from(input(name, 'sse').toString().replaceAll(/\r?\n/g, ending));
      expect(printReading(read(readerOf('sse', askOf(name, 'sse')), [bytes]))).toBe(expected);
    }
  });

  it.each(cases)('%s.%s tells nothing of the engine to a caller, and nothing of its error text to a log', (name, kind) => {
    const reading = readWhole(name, kind);
    expect(write(reading, kind)).not.toMatch(/chatcmpl-up1|up\/|fp_|CANARY|obfuscation|service_tier|matched_stop|stop_reason|timings|x_groq|call_a1/);
    expect(JSON.stringify(reading.end)).not.toContain('CANARY');
  });
});

/** The calls of an answer, put together as a client does. */
function callsIn(events: readonly AnswerEvent[]): readonly unknown[] {
  const calls: { id: string; name: string; arguments: unknown }[] = [];
  for (const event of events) {
    if (event.type === 'tool-start') calls[event.tool] = { id: event.id, name: event.name, arguments: '' };
    const call = event.type === 'tool-delta' ? calls[event.tool] : undefined;
    if (event.type === 'tool-delta' && call !== undefined) call.arguments = String(call.arguments) + event.text;
  }
  // An engine that sends its arguments as an object leaves the spaces between them to us.
  return calls.map((call) => ({ ...call, arguments: JSON.parse(String(call.arguments)) as unknown }));
}

describe('the quirks of tool calls (each as engines really do it)', () => {
  const quirks = folder.cases('.sse').filter((name) => name.startsWith('quirk-'));

  it.each(quirks)('%s gives the calls that an engine without quirks gives', (name) => {
    const { events, end } = readWhole(name, 'sse');
    expect(end).toBe('complete');
    expect(callsIn(events)).toEqual(callsIn(readWhole('quirk-none', 'sse').events));
    expect(events.at(-1)).toEqual({ type: 'finish', choice: 0, reason: 'tool_calls' });
    expect(events.filter(({ type }) => type === 'tool-start')).toHaveLength(2);
    expect(events.some((event) => event.type === 'text-delta' && event.text === '')).toBe(false);
  });
});

describe('the two ways to write an answer', () => {
  const whole = cases.filter(([name, kind]) => readWhole(name, kind).end === 'complete');

  it.each(whole)('%s.%s says the same as a stream and as an object', (name, kind) => {
    const reading = readWhole(name, kind);
    const object = JSON.parse(write(reading, 'json')) as { choices: { index: number; message: Record<string, unknown>; logprobs: Logprobs | null; finish_reason: string }[] };
    const chunks = write(reading, 'sse').split('\n\n').filter((frame) => frame.startsWith('data: {')).map((frame) => JSON.parse(frame.slice(6)) as StreamChunk);
    for (const { index, message, logprobs, finish_reason: finish } of object.choices) {
      const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      const join = (field: string): string => own.map(({ delta }) => delta[field] ?? '').join('');
      expect(message['content'] ?? '').toBe(join('content'));
      expect(message['refusal'] ?? '').toBe(join('refusal'));
      expect(message['reasoning_content'] ?? '').toBe(join('reasoning_content'));
      expect(message['reasoning'] ?? '').toBe(join('reasoning'));
      expect(own.flatMap((choice) => choice.finish_reason ?? [])).toEqual([finish]);
      for (const part of ['content', 'refusal'] as const) {
        expect(logprobs?.[part] ?? []).toEqual(own.flatMap((choice) => choice.logprobs?.[part] ?? []));
      }
    }
  });
});

interface StreamChunk {
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, string>>;
    readonly logprobs: Logprobs | null;
    readonly finish_reason: string | null;
  }[];
}

it('has no golden that no case produces', () => {
  // The cases may have been run selectively: what a case would produce counts too.
  for (const [name, kind] of cases) {
    askOf(name, kind);
    const { end } = readWhole(name, kind);
    produced.add(`${name}.${kind}.events.json`);
    if (kind === 'sse' || end === 'complete') produced.add(`${name}.${kind}.out.${kind}`);
  }
  expect(folder.orphans(produced)).toEqual([]);
});
