import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { AskedAnswer } from '../../src/core/dialect.ts';
import type { AnswerEvent, ReadStep } from '../../src/core/event.ts';
import { Failure } from '../../src/core/failure.ts';
import { costOf, type Usage } from '../../src/core/money.ts';
import { dialects } from '../../src/gateway/dialects/dialects.ts';
import { tinyPrices } from '../support/route-of.ts';
import { cutPlaces } from '../support/sweep.ts';
import { openGoldenFolder } from './golden-files.ts';
import { type Ask, type Kind, readerOf } from './read-answers.ts';

export type Json = Readonly<Record<string, unknown>>;
type Dialect = typeof dialects.chat;

/** What an engine has said, step by step. */
interface ReadAnswer {
  readonly steps: readonly (readonly AnswerEvent[])[];
  readonly end: ReadStep['state'];
}

const folder = openGoldenFolder('answers');
const nothing: Usage = { promptTokens: 0, completionTokens: 0 };

function askOf(file: string): Ask {
  const path = folder.path(`${file}.ask.json`);
  const usual: Ask = { choices: 1, tools: ['get_weather', 'get_time'] };
  return existsSync(path) ? { ...usual, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<Ask>) } : usual;
}

/** The engines' answers of one choice in `answers/`. */
export const answersOfOneChoice = (['sse', 'json'] as const)
  .flatMap((kind) => folder.cases(`.${kind}`).map((name) => [`${name}.${kind}`, kind] as const))
  .filter(([file]) => askOf(file).choices === 1);

const bytesOf = (file: string): Buffer => readFileSync(folder.path(file));

export interface AnswerReader {
  readonly readWhole: (file: string, kind: Kind) => ReadAnswer;
  /** Expects an answer, as `show` makes a text of it, to be the same cut in two at each of the places, and byte by byte. */
  readonly expectSameInPieces: (file: string, kind: Kind, show: (read: ReadAnswer) => string) => void;
}

/** `callPrefix`: what the ids of calls begin with. */
export function answerReader(callPrefix: string): AnswerReader {
  /** Reads an answer in the pieces in which its bytes come: the events of each. */
  function read(file: string, kind: Kind, pieces: readonly Uint8Array[]): ReadAnswer {
    const reader = readerOf(kind, askOf(file), (_, tool) => `${callPrefix}${tool}`);
    const steps: (readonly AnswerEvent[])[] = [];
    for (const piece of pieces) {
      const { events, state } = reader.push(piece);
      steps.push(events);
      if (state !== 'open') return { steps, end: state };
    }
    const { events, state } = reader.end();
    return { steps: [...steps, events], end: state };
  }

  return {
    readWhole: (file, kind) => read(file, kind, [bytesOf(file)]),
    expectSameInPieces: (file, kind, show) => {
      const bytes = bytesOf(file);
      const shown = (pieces: readonly Uint8Array[]): string => show(read(file, kind, pieces));
      const expected = shown([bytes]);
      for (const place of cutPlaces(bytes)) {
        const cut = shown([bytes.subarray(0, place), bytes.subarray(place)]);
        if (cut !== expected) expect(cut, `cut at ${place}`).toBe(expected);
      }
      expect(shown([...bytes].map((byte) => Uint8Array.of(byte)))).toBe(expected);
    },
  };
}

/** Writes an answer for a caller, as a stream and in one piece. */
export function writeAnswer(dialect: Dialect, { steps, end }: ReadAnswer, asked: AskedAnswer, options?: Parameters<Dialect['createStreamWriter']>[2]) {
  const usage = steps.flat().reduce((last, event) => (event.type === 'usage' ? event.usage : last), nothing);
  const bill = { usage, cost: costOf(usage, tinyPrices) };
  const identity = { id: `${dialect.idPrefixes.request}1`, created: 1_780_000_000, model: 'demo/tiny' };
  const writer = dialect.createStreamWriter(identity, asked, options);
  const begun = steps.map((events) => writer.push(events)).join('');
  const whole = dialect.createJsonWriter(identity, asked, options);
  for (const events of steps) whole.push(events);
  return {
    stream: begun + (end === 'complete' ? writer.finish(bill) : writer.fail(new Failure('stream_interrupted', 'It broke off.'))),
    object: JSON.parse(whole.finish(bill)) as Json,
  };
}
