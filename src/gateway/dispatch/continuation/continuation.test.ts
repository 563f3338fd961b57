import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../../core/event.ts';
import type { ContinuationAbility } from '../protocol.ts';
import { continueChoice, missingOf } from './continuation.ts';
import { type DeliveredChoice, keepDelivered } from './delivered.ts';

const able: ContinuationAbility = { mark: 'flag', reasoning: false };
const free = { cap: undefined, isJson: false };

const text = (said: string): AnswerEvent => ({ type: 'text-delta', choice: 0, text: said, deltas: 1 });
const reasoning = (said: string): AnswerEvent => ({ type: 'reasoning-delta', choice: 0, text: said, deltas: 1 });
const refusal = (said: string): AnswerEvent => ({ type: 'refusal-delta', choice: 0, text: said, deltas: 1 });
const call = (tool: number, name: string): AnswerEvent => ({
  type: 'tool-start',
  choice: 0,
  tool,
  id: `call_${tool}`,
  name,
});
const args = (tool: number, said: string): AnswerEvent => ({ type: 'tool-delta', choice: 0, tool, text: said });
const stop: AnswerEvent = { type: 'finish', choice: 0, reason: 'stop' };

function choiceOf(events: readonly AnswerEvent[]): DeliveredChoice {
  const kept = keepDelivered();
  kept.take(events);
  return kept.choice(0);
}

interface Merged {
  readonly choice: DeliveredChoice;
  /** New events, in order. */
  readonly fresh: readonly AnswerEvent[];
}

/** What the caller has in the end when an answer broke off and another attempt said `after`; undefined when it does not fit. */
function merge(
  before: readonly AnswerEvent[],
  after: readonly AnswerEvent[],
  ability: ContinuationAbility = able,
  how: Parameters<typeof continueChoice>[2] = free,
): Merged | undefined {
  const continuation = continueChoice({ delivered: choiceOf(before), tokens: before.length }, ability, how);
  if (continuation === undefined) throw new Error('the route cannot go on');
  const fresh: AnswerEvent[] = [];
  for (const event of after) {
    const out = continuation.merge.push([event]);
    if (out === undefined) return undefined;
    fresh.push(...out);
  }
  return { choice: choiceOf([...before, ...fresh]), fresh };
}

const saidOf = (merged: Merged | undefined): string | undefined => merged?.choice.text;

describe('a choice that broke off', () => {
  it.each<readonly [string, readonly AnswerEvent[], number, number | undefined, ReturnType<typeof missingOf>]>([
    ['lacks nothing once it has ended', [text('Hi'), stop], 1, 1, 'nothing'],
    ['lacks its end when it is as long as the cap', [text('Hi')], 5, 5, 'end'],
    ['lacks output when it is shorter than the cap', [text('Hi')], 4, 5, 'output'],
    ['lacks output when there is no cap', [text('Hi')], 4, undefined, 'output'],
    ['lacks output in the middle of a call, whatever its length', [call(0, 'time')], 6, 5, 'output'],
    ['lacks output when nothing of it was delivered', [], 0, 5, 'output'],
  ])('%s', (_, before, tokens, cap, missing) => {
    expect(missingOf({ delivered: choiceOf(before), tokens }, cap)).toBe(missing);
  });
});

describe('what is asked of a route when an answer broke off', () => {
  const plain = { tokens: 3 };
  const asked = (
    before: readonly AnswerEvent[],
    ability: ContinuationAbility,
    how: Parameters<typeof continueChoice>[2] = free,
  ) => continueChoice({ ...plain, delivered: choiceOf(before) }, ability, how);

  it('is to go on with the text, its reasoning beside it, and with what is left of the cap', () => {
    const continued = asked([reasoning('so'), text('Hel'), text('lo')], able, { cap: 10, isJson: false });
    expect(continued).toMatchObject({
      ask: { partial: { mark: 'flag', text: 'Hello', reasoning: 'so' }, maxOutputTokens: 7 },
      answerBegun: true,
      prefixTokens: 3,
    });
  });

  it('says nothing of a cap that the caller did not set', () => {
    expect(asked([text('Hello')], able)?.ask).toEqual({ partial: { mark: 'flag', text: 'Hello' } });
  });

  it.each([
    ['text', [text('Hello')]],
    ['reasoning and text', [reasoning('so'), text('Hello')]],
  ])('is nothing where the route cannot continue %s', (_, before) => {
    expect(asked(before, { mark: 'none', reasoning: false })).toBeUndefined();
  });

  it('is to go on with reasoning where the route can', () => {
    expect(asked([reasoning('so')], { mark: 'echo', reasoning: true })).toMatchObject({
      ask: { partial: { text: '', reasoning: 'so' } },
      answerBegun: false,
    });
  });

  it.each([
    ['reasoning alone, where it cannot', [reasoning('so')], able],
    ['reasoning alone, where it can continue nothing', [reasoning('so')], { mark: 'none', reasoning: false } as const],
    ['a call', [text('Let me see.'), call(0, 'weather'), args(0, '{"ci')], able],
    ['a refusal', [refusal('I can')], able],
    ['nothing at all', [], able],
  ])('is a new answer after %s', (_, before, ability) => {
    expect(asked(before, ability, { cap: 10, isJson: false })).toMatchObject({ ask: {}, prefixTokens: 0 });
  });
});

describe('text that another engine continues', () => {
  it('is merged without a merge', () => {
    expect(saidOf(merge([text('The quick')], [text(' brown'), text(' fox'), stop]))).toBe('The quick brown fox');
  });

  it('may be over already', () => {
    const merged = merge([text('The end.')], [stop]);
    expect(merged).toMatchObject({ choice: { text: 'The end.', finished: true }, fresh: [stop] });
  });

  it('is taken at once when nothing in it repeats', () => {
    const merged = merge([text('The quick brown fox jumps over')], [text(' the')]);
    expect(merged?.fresh).toEqual([text(' the')]);
  });

  it('is cleared of an echo of the whole', () => {
    const after = [text('The qu'), text('ick brown'), text(' fox'), stop];
    expect(saidOf(merge([text('The quick')], after, { mark: 'echo', reasoning: false }))).toBe('The quick brown fox');
  });

  it('is not cleared of an echo that an engine unexpectedly leaves out', () => {
    const merged = merge([text('The quick')], [text(' brown fox'), stop], { mark: 'echo', reasoning: false });
    expect(saidOf(merged)).toBe('The quick brown fox');
  });

  it('does not fit when the echo ends before the text did', () => {
    expect(merge([text('The quick')], [text('The q'), stop], { mark: 'echo', reasoning: false })).toBeUndefined();
  });

  it('is cleared of an echo that nobody announced, when it cannot be chance', () => {
    const before = 'The quick brown fox jumps over the lazy dog';
    expect(saidOf(merge([text(before)], [text(`${before} and`), text(' runs.'), stop]))).toBe(`${before} and runs.`);
  });

  it.each(['ha', 'ha ha ', 'na na na na na na na na '])('may go on saying %j', (said) => {
    expect(saidOf(merge([text(said)], [text(said), stop]))).toBe(said + said);
  });

  it.each(['', ' '])('is cleared of last words said again (after %j)', (space) => {
    const after = [text(`${space}jumps over`), text(' the lazy'), text(' dog'), stop];
    const merged = merge([text('The quick brown fox jumps over the')], after);
    expect(saidOf(merged)?.replaceAll(/\s+/g, ' ')).toBe('The quick brown fox jumps over the lazy dog');
  });

  it('keeps a few words that come again by chance', () => {
    expect(saidOf(merge([text('It is what it')], [text(' it'), text(' is'), stop]))).toBe('It is what it it is');
  });

  it('is taken from the reasoning when the engine files all of it there', () => {
    expect(merge([text('Hel')], [reasoning('lo'), reasoning('!'), stop])?.choice).toMatchObject({
      text: 'Hello!',
      reasoning: '',
    });
  });

  it('keeps the probabilities of what the merge held back', () => {
    const before = 'The quick brown fox jumps over the';
    const token = (said: string): AnswerEvent => ({
      ...{ type: 'text-delta', choice: 0, text: said, deltas: 1 },
      logprobs: { content: [{ token: said }] },
    });
    const probable = (after: readonly AnswerEvent[]): unknown =>
      merge([text(before)], after)?.fresh.flatMap((event) =>
        'logprobs' in event ? (event.logprobs?.content ?? []) : [],
      );
    // It begins as the last words do, and then goes elsewhere.
    expect(probable([token('jumps'), token(' high'), stop])).toEqual([{ token: 'jumps' }, { token: ' high' }]);
    // It says them again.
    const again = [token('jumps over'), token(' the'), token(' dog'), stop];
    expect(probable(again)).toEqual([{ token: ' dog' }]);
  });

  it('drops a trace that begins anew when nothing was left to say', () => {
    const merged = merge(
      [reasoning('Let me think.'), text('Hello')],
      [reasoning('Let me'), reasoning(' think.'), stop],
    );
    expect(merged?.choice).toMatchObject({ text: 'Hello', reasoning: 'Let me think.' });
  });

  it('drops reasoning that begins anew before it', () => {
    const merged = merge([reasoning('so'), text('Hel')], [reasoning('hm'), reasoning('so'), text('lo'), stop]);
    expect(merged?.choice).toMatchObject({ text: 'Hello', reasoning: 'so' });
  });

  it('may go on with a call', () => {
    const merged = merge([text('Let me')], [text(' see.'), call(0, 'weather'), args(0, '{}'), stop]);
    expect(merged?.choice).toMatchObject({ text: 'Let me see.', calls: [{ name: 'weather', arguments: '{}' }] });
  });

  it('is whole wherever it broke off, and however it comes', () => {
    const word = fc.stringMatching(/^[a-z]{1,7}$/);
    const cuts = fc.array(fc.nat({ max: 8 }), { minLength: 1 });
    fc.assert(
      fc.property(
        fc.uniqueArray(word, { minLength: 2, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        cuts,
        fc.boolean(),
        (words, at, sizes, echoes) => {
          const whole = words.join(' ');
          const cut = Math.floor(at * whole.length);
          const before = whole.slice(0, cut);
          const pieces: AnswerEvent[] = [];
          let rest = echoes ? whole : whole.slice(cut);
          for (let turn = 0; rest !== ''; turn += 1) {
            const size = 1 + (sizes[turn % sizes.length] ?? 0);
            pieces.push(text(rest.slice(0, size)));
            rest = rest.slice(size);
          }
          const ability = { mark: echoes ? 'echo' : 'flag', reasoning: false } as const;
          expect(saidOf(merge([text(before)], [...pieces, stop], ability))).toBe(whole);
        },
      ),
    );
  });
});

describe('JSON that another engine continues', () => {
  const json = { cap: undefined, isJson: true };

  it.each([
    ['goes on', ' 2]}'],
    ['begins anew, which its grammar makes it', '{"a": [1, 2]}'],
    ['begins anew in another formatting', '{"a":[1,2]}'],
    ['begins anew on several lines', '{\n  "a": [\n    1,\n    2\n  ]\n}'],
  ])('is whole when it %s', (_, after) => {
    const pieces = after.split('').map(text);
    expect(JSON.parse(saidOf(merge([text('{"a": [1,')], [...pieces, stop], able, json)) ?? '')).toEqual({ a: [1, 2] });
  });

  it.each([
    ['another object', '{"b": 1}'],
    ['what cannot follow', '}{'],
    ['less than there was', '{"a"'],
  ])('does not fit when the engine says %s', (_, after) => {
    expect(merge([text('{"a": 1,')], [...after.split('').map(text), stop], able, json)).toBeUndefined();
  });
});

describe('reasoning that broke off', () => {
  const unable: ContinuationAbility = { mark: 'none', reasoning: false };

  it('is not said again by a new answer that reasons the same', () => {
    const merged = merge(
      [reasoning('First, I ')],
      [reasoning('First,'), reasoning(' I look.'), text('Hi'), stop],
      unable,
    );
    expect(merged?.choice).toMatchObject({ reasoning: 'First, I look.', text: 'Hi', finished: true });
  });

  it('is followed by the whole of a new one that differs', () => {
    const merged = merge(
      [reasoning('First, I ')],
      [reasoning('First, we'), reasoning(' look.'), text('Hi'), stop],
      unable,
    );
    expect(merged?.choice).toMatchObject({ reasoning: 'First, I \n\nFirst, we look.', text: 'Hi' });
  });

  it('is enough when the new answer reasons less', () => {
    const merged = merge([reasoning('First, I ')], [reasoning('First'), text('Hi'), stop], unable);
    expect(merged?.choice).toMatchObject({ reasoning: 'First, I ', text: 'Hi' });
  });

  it('may be over where the route can continue it, even if it usually repeats it first', () => {
    const can = { mark: 'echo', reasoning: true } as const;
    const merged = merge([reasoning('First, I ')], [text('Hi'), stop], can);
    expect(merged?.choice).toMatchObject({ reasoning: 'First, I ', text: 'Hi' });
  });

  it.each<readonly [string, ContinuationAbility, readonly string[], number]>([
    ['begins anew and says the same', unable, ['First,', ' I ', 'look.'], 1],
    ['begins anew and says more in the same token', unable, ['First,', ' I look.'], 1],
    ['begins anew and differs', unable, ['First,', ' we', ' look.'], 3],
    ['is held and turns out to be new', { mark: 'flag', reasoning: true }, ['First', ' of all', '.'], 3],
    ['repeats what it continues', { mark: 'echo', reasoning: true }, ['First,', ' I ', 'look.'], 1],
  ])('has the deltas of what is delivered when the rest %s', (_, ability, after, deltas) => {
    const merged = merge([reasoning('First,'), reasoning(' I ')], after.map(reasoning), ability);
    expect(merged?.choice.deltas).toBe(2 + deltas);
  });

  it('goes on where the route can continue it', () => {
    const can = { mark: 'flag', reasoning: true } as const;
    const merged = merge([reasoning('First, I ')], [reasoning('look.'), text('Hi'), stop], can);
    expect(merged?.choice).toMatchObject({ reasoning: 'First, I look.', text: 'Hi' });
  });
});

describe('calls that broke off', () => {
  const before = [text('Let me see.'), call(0, 'weather'), args(0, '{"city": "Par'), args(0, 'is"}'), call(1, 'time')];

  it('go on in a new answer that makes the same ones', () => {
    const after = [
      ...[text('Let me'), text(' see.'), call(0, 'weather'), args(0, '{"city": "Paris"}')],
      ...[call(1, 'time'), args(1, '{"zone":'), args(1, '"CET"}'), stop],
    ];
    const merged = merge(before, after);
    expect(merged?.choice).toMatchObject({
      text: 'Let me see.',
      finished: true,
      calls: [
        { name: 'weather', arguments: '{"city": "Paris"}' },
        { name: 'time', arguments: '{"zone":"CET"}' },
      ],
    });
    expect(merged?.fresh.filter(({ type }) => type === 'tool-start')).toEqual([]);
  });

  it('go on whatever the new answer says before them, which the caller has read already', () => {
    const merged = merge(
      [text('Let me see.'), call(0, 'weather'), args(0, '{"ci')],
      [reasoning('hm'), text('I look.'), call(0, 'weather'), args(0, '{"city":1}'), stop],
    );
    expect(merged?.choice).toMatchObject({ text: 'Let me see.', reasoning: '', calls: [{ arguments: '{"city":1}' }] });
  });

  it('go on in another formatting', () => {
    const merged = merge(
      [call(0, 'weather'), args(0, '{"city": "Pa')],
      [call(0, 'weather'), args(0, '{"city":"Paris"}'), stop],
    );
    expect(JSON.parse(merged?.choice.calls[0]?.arguments ?? '')).toEqual({ city: 'Paris' });
  });

  it.each([
    ['another tool', [call(0, 'time'), args(0, '{"city": "Paris"}'), stop]],
    ['other arguments', [call(0, 'weather'), args(0, '{"city": "Rome"}'), stop]],
    ['fewer calls', [call(0, 'weather'), args(0, '{"city": "Paris"}'), stop]],
    ['no call', [text('It rains.'), stop]],
  ])('do not fit a new answer with %s', (_, after) => {
    expect(merge(before, after)).toBeUndefined();
  });

  it('may be followed by further calls', () => {
    const after = [call(0, 'weather'), args(0, '{}'), call(1, 'time'), args(1, '{}'), stop];
    expect(merge([call(0, 'weather'), args(0, '{}')], after)?.choice.calls).toHaveLength(2);
  });
});

describe('a refusal that broke off', () => {
  it('goes on in a new answer that refuses in the same words', () => {
    expect(merge([refusal('I can')], [refusal('I'), refusal(' cannot.'), stop])?.choice.refusal).toBe('I cannot.');
  });

  it('does not fit one that differs', () => {
    expect(merge([refusal('I can')], [refusal('No.'), stop])).toBeUndefined();
    expect(merge([refusal('I can')], [text('Sure.'), stop])).toBeUndefined();
  });
});
