import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { rateAsk } from '../../../test/support/bucket-law.ts';
import { createMemoryLimits, type LocalSlot } from './memory.ts';

/** A request: what is reserved for it, and what it really costs. */
interface Answer {
  readonly reserved: number;
  readonly cost: number;
}
/** One step of an account's life. `at` picks one of those under way. */
type Step =
  | { readonly kind: 'ask'; readonly answer: Answer }
  | { readonly kind: 'run'; readonly at: number; readonly share: number }
  | { readonly kind: 'end'; readonly at: number };

const answers = fc.record({ reserved: fc.integer({ min: 0, max: 400 }), cost: fc.integer({ min: 1, max: 400 }) });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), answer: answers }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('run' as const),
        at: fc.nat(63),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), at: fc.nat(63) }) },
  ),
  { maxLength: 200 },
);

/** Lives through the steps and then lets all end. Gives the balance after it, and what it could not know beforehand. */
function live(credit: number, script: readonly Step[]) {
  const limits = createMemoryLimits(createFakeClock());
  const underWay: { readonly slot: LocalSlot; readonly answer: Answer }[] = [];
  let balance = BigInt(credit);
  let [surprise, lastCost, dispatched] = [0, 0, 0];

  function ask(answer: Answer): void {
    const funds = { balance };
    const result = limits.admit(rateAsk({ funds, rate: 1e9, burst: 1e9 }));
    if (result.kind === 'refused') return;
    const { slot } = result;
    if (slot.reserve(BigInt(answer.reserved), funds) !== undefined) {
      slot.release();
      return;
    }
    underWay.push({ slot, answer });
    surprise += Math.max(0, answer.cost - answer.reserved);
    lastCost = answer.cost;
    dispatched += 1;
  }

  function end(at: number): void {
    const [ended] = underWay.splice(at % underWay.length, 1);
    if (ended === undefined) return;
    balance -= BigInt(ended.answer.cost);
    ended.slot.release();
  }

  for (const step of script) {
    if (step.kind === 'ask') ask(step.answer);
    else if (underWay.length > 0 && step.kind === 'end') end(step.at);
    else if (step.kind === 'run') {
      const running = underWay[step.at % underWay.length];
      if (running === undefined) continue;
      const soFar = Math.floor(running.answer.cost * step.share);
      running.slot.adjust(BigInt(Math.max(running.answer.reserved, soFar)));
    }
  }
  while (underWay.length > 0) end(0);
  return { balance: Number(balance), surprise, lastCost, dispatched };
}

describe('an account whose requests are reserved', () => {
  it('is overspent by no more than its last answer and what answers cost beyond their reservations', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), steps, (credit, script) => {
        const { balance, surprise, lastCost } = live(credit, script);
        expect(balance).toBeGreaterThan(-lastCost - surprise);
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses no request where the balance exceeds all reservations', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const asks = script.filter(({ kind }) => kind === 'ask').length;
        expect(live(asks * 400 + 1, script).dispatched).toBe(asks);
      }),
    );
  });

  const burst = (reserved: number): readonly Step[] =>
    Array.from({ length: 64 }, () => ({ kind: 'ask' as const, answer: { reserved, cost: 3_000 } }));

  it.each<[string, number, { readonly dispatched: number; readonly balance: number }]>([
    ['exactly', 3_000, { dispatched: 3, balance: 0 }],
    ['a tenth too high', 3_300, { dispatched: 3, balance: 0 }],
    ['a tenth too low', 2_700, { dispatched: 4, balance: -3_000 }],
    ['as high as all it has', 9_000, { dispatched: 1, balance: 6_000 }],
    ['far above all it has', 90_000, { dispatched: 1, balance: 6_000 }],
    ['not at all, and all 64 pass', 0, { dispatched: 64, balance: 9_000 - 64 * 3_000 }],
  ])('that has a credit for three dear answers, 64 at once, each reserved %s', (_, reserved, outcome) => {
    expect(live(9_000, burst(reserved))).toMatchObject(outcome);
  });
});
