import { describe, expect, it } from 'vitest';
import type { AnswerEvent, ReadStep } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';
import { checkUsage } from './check-usage.ts';

const text = (said: string, deltas = 1): AnswerEvent => ({ type: 'text-delta', choice: 0, text: said, deltas });
const reasoning = (said: string): AnswerEvent => ({ type: 'reasoning-delta', choice: 0, text: said, deltas: 1 });
const finish: AnswerEvent = { type: 'finish', choice: 0, reason: 'stop' };
const call: AnswerEvent = { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'f' };
const usage = (promptTokens: number, completionTokens: number, more: Partial<Usage> = {}): AnswerEvent => ({
  type: 'usage',
  usage: { promptTokens, completionTokens, ...more },
});

interface Case {
  readonly steps: readonly (readonly AnswerEvent[])[];
  readonly cap?: number;
  readonly choices?: number;
  readonly mode?: 'None' | 'Optional';
  readonly minPrompt?: number;
  readonly maxPrompt?: number;
  readonly maxTokenBytes?: number;
  readonly mayRepeat?: boolean;
}

/** The last usage that is told of an answer, and how often it was said that one cannot be true. */
function told({ steps, cap, choices = 1, mode = 'None', ...given }: Case) {
  const { minPrompt: min = 1, maxPrompt: max = Infinity, maxTokenBytes, mayRepeat = false } = given;
  let implausible = 0;
  const left = [...steps];
  const step = (): ReadStep => ({ events: left.shift() ?? [], state: 'open' });
  const reader = checkUsage(
    { push: step, end: step },
    {
      model: { contextLength: 1000, reasoning: { mode, efforts: [] } },
      ...{ cap, choices, promptEstimate: 7, promptBounds: () => ({ min, max }), implausible: () => (implausible += 1) },
      ...{ maxTokenBytes: () => maxTokenBytes, mayRepeat },
    },
  );
  const events = steps.flatMap(
    (_, at) => (at < steps.length - 1 ? reader.push(new Uint8Array()) : reader.end()).events,
  );
  const last = events.findLast((event) => event.type === 'usage');
  return { usage: last?.usage, countedBy: last?.countedBy, implausible };
}

const three = [text('alpha '), text('bravo '), text('gamma')];
const bulk = text('words '.repeat(500), 500);

describe('a count that can be true', () => {
  it.each<readonly [string, Case, Partial<Usage>]>([
    ['zero, of an answer without text', { steps: [[finish, usage(1, 0)]] }, { promptTokens: 1, completionTokens: 0 }],
    ['a full window', { steps: [[bulk, finish, usage(1000, 500)]] }, { promptTokens: 1000, completionTokens: 500 }],
    ['a tenth over the cap', { steps: [[bulk, finish, usage(1, 110)]], cap: 100 }, { completionTokens: 110 }],
    ['one over a cap of one', { steps: [[text('a'), finish, usage(1, 2)]], cap: 1 }, { completionTokens: 2 }],
    [
      'a cap for each choice',
      { steps: [[bulk, finish, finish, usage(1, 200)]], cap: 100, choices: 2 },
      { completionTokens: 200 },
    ],
    ['some that no text shows', { steps: [[...three, finish, usage(1, 60)]] }, { completionTokens: 60 }],
    [
      'reasoning that its engine keeps to itself and counts',
      { steps: [[...three, finish, usage(1, 500, { reasoningTokens: 480 })]], mode: 'Optional' },
      { completionTokens: 500, reasoningTokens: 480 },
    ],
    [
      'reasoning that may be hidden',
      { steps: [[...three, finish, usage(1, 500)]], mode: 'Optional' },
      { completionTokens: 500 },
    ],
    [
      'reasoning that its engine counts and sends only in part',
      { steps: [[reasoning('hm'), ...three, finish, usage(1, 500, { reasoningTokens: 480 })]], mode: 'Optional' },
      { completionTokens: 500 },
    ],
    ['the markup of a call', { steps: [[...three, call, finish, usage(1, 18 + 2 * 64)]] }, { completionTokens: 146 }],
    ['the markup of a running answer', { steps: [[...three, usage(1, 60)]] }, { completionTokens: 60 }],
    [
      'hidden reasoning of a running answer',
      { steps: [[text('a'), usage(1, 500, { reasoningTokens: 480 })]], mode: 'Optional' },
      { completionTokens: 500 },
    ],
  ])('is taken as it is: %s', (_, given, expected) => {
    expect(told(given)).toMatchObject({ usage: expected, countedBy: undefined, implausible: 0 });
  });
});

describe('a running count ahead of the output', () => {
  const early = [...three, usage(12, 300)];

  it.each<readonly [string, Case]>([
    ['of the text', { steps: [early, [text('d')]] }],
    [
      'of shown reasoning',
      { steps: [[reasoning('hm'), ...early, usage(12, 300, { reasoningTokens: 290 })]], mode: 'Optional' },
    ],
    ['of a model that does not reason', { steps: [[...three, usage(12, 300, { reasoningTokens: 290 })]] }],
    ['of one of two choices', { steps: [[...early, finish]], choices: 2 }],
  ])('is not billed when the answer breaks off: %s', (_, given) => {
    expect(told(given)).toEqual({ usage: undefined, countedBy: undefined, implausible: 0 });
  });

  it('leaves the earlier count in force', () => {
    expect(told({ steps: [[text('a'), usage(12, 1)], [usage(12, 900)]] }).usage?.completionTokens).toBe(1);
  });

  it('counts once the output has caught up, and at the end', () => {
    expect(told({ steps: [early, [bulk], [usage(12, 301)]] }).usage?.completionTokens).toBe(301);
    expect(told({ steps: [early, [bulk, finish]] })).toMatchObject({
      usage: { completionTokens: 300 },
      implausible: 0,
    });
  });

  it('is replaced by an estimate when the whole output cannot be that long', () => {
    expect(told({ steps: [early, [finish]] })).toEqual({
      usage: { promptTokens: 12, completionTokens: 3 },
      ...{ countedBy: 'estimate', implausible: 1 },
    });
  });
});

describe('a count that cannot be true', () => {
  it.each<readonly [string, AnswerEvent, number, number]>([
    ['a prompt beyond the window', usage(1001, 3), 7, 3],
    ['a negative prompt', usage(-5, 3), 7, 3],
    ['half a token', usage(12.5, 3), 7, 3],
    ['1e300 tokens', usage(12, 1e300), 12, 3],
    ['infinitely many', usage(12, Infinity), 12, 3],
    ['more than 2^53', usage(2 ** 53, 2 ** 53), 7, 3],
    ['a negative completion', usage(12, -1), 12, 3],
    ['more than the window', usage(12, 1001), 12, 3],
    ['more tokens than bytes', usage(12, 82), 12, 3],
  ])('is ours, as an estimate: %s', (_, event, promptTokens, completionTokens) => {
    expect(told({ steps: [[...three, finish], [event]] })).toEqual({
      ...{ usage: { promptTokens, completionTokens }, countedBy: 'estimate', implausible: 1 },
    });
  });

  it('is one beyond the cap and a tenth', () => {
    expect(told({ steps: [[bulk, finish, usage(1, 111)]], cap: 100 })).toMatchObject({
      usage: { completionTokens: 100 },
      countedBy: 'estimate',
    });
  });

  it('is one beyond the bytes of reasoning and text, where the reasoning was seen', () => {
    const steps = [[reasoning('hm'), ...three, finish, usage(1, 200)]];
    expect(told({ steps, mode: 'Optional' })).toMatchObject({ usage: { completionTokens: 4 }, countedBy: 'estimate' });
  });

  it('is one beyond the bytes and the markup of the answer and its calls', () => {
    expect(told({ steps: [[...three, call, finish, usage(1, 18 + 2 * 64 + 1)]] }).implausible).toBe(1);
  });

  it('is the output that was seen, up to the cap of all choices', () => {
    const given = { steps: [[bulk, finish, finish, usage(1, 5000)]], cap: 100, choices: 2 };
    expect(told(given).usage).toEqual({ promptTokens: 1, completionTokens: 200 });
  });

  it('leaves a split alone whose output can be true', () => {
    const given = { steps: [[...three, finish, usage(5000, 3, { reasoningTokens: 2 })]] };
    expect(told(given).usage).toEqual({ promptTokens: 7, completionTokens: 3, reasoningTokens: 2 });
  });

  it('takes its split along, and no more of the cache than there is prompt', () => {
    const given = { steps: [[...three, finish, usage(5000, 5000, { cachedTokens: 4000, reasoningTokens: 4900 })]] };
    expect(told(given).usage).toEqual({ promptTokens: 7, completionTokens: 3, cachedTokens: 7 });
  });

  it.each<readonly [string, number, number]>([
    ['at the bound of what was sent', 120, 0],
    ['one beyond it', 121, 1],
  ])('is a prompt %s', (_, promptTokens, implausible) => {
    const given = { steps: [[...three, finish, usage(promptTokens, 3)]] };
    expect(told({ ...given, maxPrompt: 120 })).toEqual({
      usage: { promptTokens: implausible === 0 ? promptTokens : 7, completionTokens: 3 },
      ...{ countedBy: implausible === 0 ? undefined : 'estimate', implausible },
    });
    // Twin: the window alone lets it pass.
    expect(told(given)).toMatchObject({ usage: { promptTokens }, implausible: 0 });
  });

  it('may count the prompt for each choice', () => {
    const given = { steps: [[bulk, finish, finish, usage(240, 500)]], choices: 2, maxPrompt: 120 };
    expect(told(given)).toMatchObject({ usage: { promptTokens: 240 }, implausible: 0 });
  });

  it('is told of once in an answer that counts as it runs', () => {
    const steps = [
      [text('a'), usage(2000, 1)],
      [text('b'), usage(2000, 2)],
      [finish, usage(2000, 2)],
    ];
    expect(told({ steps })).toMatchObject({ usage: { promptTokens: 7, completionTokens: 2 }, implausible: 1 });
  });

  it('counts bytes as UTF-8 does', () => {
    const said = 'é我👍'.repeat(20);
    const bytes = new TextEncoder().encode(said).length;
    expect(told({ steps: [[text(said), finish, usage(1, bytes + 64)]] }).implausible).toBe(0);
    expect(told({ steps: [[text(said), finish, usage(1, bytes + 65)]] }).implausible).toBe(1);
  });
});

const long = text('word '.repeat(2000));
const longReasoning = reasoning('word '.repeat(2000));

describe('the estimate in place of a count', () => {
  const said = 'Water finds its own level in the end, and so do we.';
  const pieces = (length: number) => (said.match(new RegExp(`.{1,${length}}`, 'g')) ?? []).map((piece) => text(piece));
  const whole = told({ steps: [[text(said), finish, usage(1, 0)]] }).usage;

  it.each<readonly [string, Case]>([
    ['a stream in tokens', { steps: [...pieces(4).map((piece) => [piece]), [finish, usage(1, 0)]] }],
    ['a stream in characters', { steps: [...pieces(1).map((piece) => [piece]), [finish, usage(1, 0)]] }],
    [
      'a stream with running counts',
      { steps: [...pieces(4).map((piece) => [piece, usage(1, 0)]), [finish, usage(1, 0)]] },
    ],
    ['pieces of a whole answer', { steps: [[...pieces(7), finish, usage(1, 0)]] }],
  ])('is the same for a whole answer and for %s', (_, given) => {
    expect(told(given).usage).toEqual(whole);
    expect(whole).toEqual({ promptTokens: 1, completionTokens: 8 });
  });

  it('counts the names of calls', () => {
    const named: AnswerEvent = { type: 'tool-start', choice: 0, tool: 0, id: 'call_1', name: 'get_weather_forecast' };
    expect(told({ steps: [[named, finish, usage(1, 5_000)]] }).usage?.completionTokens).toBe(4);
  });
});

describe('a count and the least tokens of its text', () => {
  // 8,000 letters that do not repeat count as 1,600 tokens, of which 32 fit into the longest token.
  it.each<readonly [string, Case, Partial<Usage>, number]>([
    ['no output', { steps: [[...three, finish, usage(1, 0)]] }, { completionTokens: 3 }, 1],
    ['almost none', { steps: [[long, finish, usage(1, 49)]] }, { completionTokens: 1000 }, 1],
    ['at the bound', { steps: [[long, finish, usage(1, 50)]] }, { completionTokens: 50 }, 0],
    ['shorter tokens', { steps: [[long, finish, usage(1, 399)]], maxTokenBytes: 16 }, { completionTokens: 1000 }, 1],
    ['endless tokens', { steps: [[long, finish, usage(1, 1)]], maxTokenBytes: Infinity }, { completionTokens: 1 }, 0],
    ['a prompt', { steps: [[long, finish, usage(9, 500)]], minPrompt: 10 }, { promptTokens: 7 }, 1],
    ['a prompt at the bound', { steps: [[long, finish, usage(9, 500)]], minPrompt: 9 }, { promptTokens: 9 }, 0],
    ['only blanks', { steps: [[text(' '.repeat(9000)), finish, usage(1, 71)]] }, { completionTokens: 71 }, 0],
    ['a repeated text', { steps: [[long, finish, usage(1, 1)]], mayRepeat: true }, { completionTokens: 1 }, 0],
  ])('is replaced below the bound: %s', (_, given, expected, implausible) => {
    expect(told(given)).toMatchObject({
      usage: expected,
      ...{ countedBy: implausible === 1 ? 'estimate' : undefined, implausible },
    });
  });

  it('is replaced while the answer runs, and called impossible only at its end', () => {
    const placeholder = [text('a b c'), usage(0, 0)];
    expect(told({ steps: [placeholder] })).toEqual({
      ...{ usage: { promptTokens: 7, completionTokens: 1 }, countedBy: 'estimate', implausible: 0 },
    });
    expect(told({ steps: [placeholder, [finish, usage(9, 3)]] })).toEqual({
      ...{ usage: { promptTokens: 9, completionTokens: 3 }, countedBy: undefined, implausible: 0 },
    });
    expect(told({ steps: [placeholder, [finish, usage(0, 0)]] }).implausible).toBe(1);
  });

  it.each<readonly [string, number, number | undefined]>([
    ['none', 0, undefined],
    ['almost none', 49, undefined],
    ['at the bound', 50, 50],
  ])('is left out where it is of reasoning: %s', (_, reasoningTokens, expected) => {
    const steps = [[longReasoning, text('a'), finish, usage(1, 500, { reasoningTokens })]];
    const { usage: left, countedBy } = told({ steps, mode: 'Optional' });
    expect([left?.completionTokens, left?.reasoningTokens, countedBy]).toEqual([500, expected, undefined]);
  });
});
