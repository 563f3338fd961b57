import { describe, expect, it } from 'vitest';
import { runDispatch } from '../../../../test/support/run-dispatch.ts';
import { choiceSizes, type DeliveredChoice, keepDelivered } from './delivered.ts';

const choice = (fields: Partial<DeliveredChoice>): DeliveredChoice => ({
  ...{ text: '', reasoning: '', refusal: '', calls: [], deltas: 0, finished: false },
  ...fields,
});
/** A token for every two characters. */
const countText = (said: string): Promise<number> => Promise.resolve(Math.ceil(said.length / 2));
const nobody = { countText: undefined, total: undefined };

it.each(['text-delta', 'reasoning-delta', 'refusal-delta'] as const)(
  'deltas count towards the size of a choice: %s',
  (type) => {
    const kept = keepDelivered();
    const event = { type, choice: 0, text: 'a', deltas: 3 };
    kept.take([event, { ...event, choice: 1, deltas: 4 }, event]);
    expect([kept.choice(0).deltas, kept.choice(1).deltas]).toEqual([6, 4]);
  },
);

describe('the tokens of choices', () => {
  it('of a single one are all there are', async () => {
    expect(await choiceSizes([choice({ deltas: 3 })], { countText, total: 7 })).toEqual([7]);
  });

  it('are counted run by run, for no token spans two of them', async () => {
    const one = choice({ reasoning: 'a', text: 'b', refusal: 'c', calls: [{ name: 'd', arguments: 'e' }] });
    expect(await choiceSizes([one, choice({ text: 'abcd' })], { countText, total: undefined })).toEqual([5, 2]);
  });

  it('are the engine’s deltas where nobody can count', async () => {
    expect(await choiceSizes([choice({ deltas: 3 }), choice({ deltas: 4 })], nobody)).toEqual([3, 4]);
    const cannot = { countText: () => Promise.resolve(undefined), total: undefined };
    expect(await choiceSizes([choice({ text: 'a', deltas: 3 }), choice({})], cannot)).toEqual([3, 0]);
  });

  it('add up to what the engine told of all of them', async () => {
    const three = [choice({ deltas: 3 }), choice({ deltas: 4 }), choice({ deltas: 3 })];
    const sizes = await choiceSizes(three, { countText: undefined, total: 26 });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(26);
    expect(sizes).toEqual([8, 10, 8]);
  });

  it('are nothing where nothing was delivered', async () => {
    expect(await choiceSizes([choice({}), choice({})], { countText: undefined, total: 0 })).toEqual([0, 0]);
  });
});

describe('what was delivered of a choice', () => {
  it('stays as it was when it was asked for', () => {
    const kept = keepDelivered();
    kept.take([
      { type: 'tool-start', choice: 0, tool: 0, id: 'call', name: 'go' },
      { type: 'text-delta', choice: 0, text: 'a', deltas: 1 },
    ]);
    const before = kept.choice(0);
    kept.take([
      { type: 'tool-delta', choice: 0, tool: 0, text: '{}' },
      { type: 'text-delta', choice: 0, text: 'b', deltas: 1 },
    ]);
    expect(before).toEqual(choice({ text: 'a', calls: [{ name: 'go', arguments: '' }], deltas: 2 }));
    expect(kept.choice(0)).toEqual(choice({ text: 'ab', calls: [{ name: 'go', arguments: '{}' }], deltas: 4 }));
  });

  it('counts once when an engine writes it again, whatever number of tokens comes in a piece', async () => {
    const run = runDispatch({ asked: { isJson: true } });
    run.says(0, '0:{"a":1, =7/7').fail('ECONNRESET');
    await run.upstream.called(1);
    run.says(1, '0:{"a":1, 0:"b":2} =14/13 0!').end();
    await run.ended;
    expect(run.text()).toBe('{"a":1,"b":2}');
    expect(run.usage()?.usage.completionTokens).toBe(13);
  });
});
