// @suite long slow
import { expect, it } from 'vitest';
import { chatSurfaces } from '../../src/core/dialect.ts';
import { isRequest, type WorldPlan } from './events.ts';
import { makeSweep, shapesOf } from './make-sweep.ts';
import { readAnswer } from './received-answer.ts';
import { runWorld } from './run-world.ts';
import { sweepVariants } from './sweep-variants.ts';

const seed = 20_260_801;
/** Of the requests that one engine breaks, a third meet it. Others find it ejected, or are whole before the place of the fault. */
const minShareMet = 0.2;
/** Answers in few pieces are whole before most places. */
const minVariantsMet = 0.1;

/** An answer that ends, that says so, and that is garbled. */
const faults = ['cut', 'error-then-done', 'malformed-then-cut'] as const;

/** Silence must not be what gives a fault away. */
const maxTookMs = 5_000;

interface Swept {
  readonly violations: readonly unknown[];
  readonly failedOver: number;
  readonly resumed: number;
  /** Answers that are not whole, or late: a caller sees the fault. */
  readonly seen: readonly string[];
}

async function sweep(plan: WorldPlan): Promise<Swept & { readonly asked: number }> {
  const swept = { failedOver: 0, resumed: 0, seen: new Array<string>() };
  const { violations } = await runWorld(plan, undefined, ({ attempts, calls }) => ({
    check: () => undefined,
    checkBooks: () => Promise.resolve(),
    checkRest: () => {
      for (const tried of attempts.values()) {
        if (tried.length > 1) swept.failedOver += 1;
        if (tried.some(({ start }) => start.reason === 'resume')) swept.resumed += 1;
      }
      for (const { event, status, body, startedAt, endedAt } of calls) {
        const { end } = readAnswer(event, body(), true);
        const tookMs = endedAt() - startedAt;
        if (status() !== 200 || end !== 'whole' || tookMs > maxTookMs)
          swept.seen.push(`${JSON.stringify(event.directive)} ${status()}, ${tookMs} ms: ${body().slice(-200)}`);
      }
      return Promise.resolve();
    },
  }));
  return { ...swept, violations, asked: plan.events.filter(isRequest).length };
}

it.each(chatSurfaces)('keeps its promises on %s wherever an answer breaks', { timeout: 1_200_000 }, async (surface) => {
  const plan = makeSweep(shapesOf(surface), { seed, oneOf: surface === 'chat' ? 4 : 5 });
  const { violations, asked, failedOver, resumed } = await sweep(plan);
  console.log(surface, { asked, failedOver, resumed });
  expect(violations).toEqual([]);
  expect(failedOver / asked).toBeGreaterThan(minShareMet);
});

it.each(Object.entries(sweepVariants))(
  'delivers answers that break (%s) as if nothing had happened',
  { timeout: 1_200_000 },
  async (name, { shapes, backends }) => {
    const plan = makeSweep(shapes, { seed, oneOf: 3, faults, alone: false, ...(backends && { backends }) });
    const { violations, seen, asked, failedOver, resumed } = await sweep(plan);
    console.log(name, { asked, failedOver, resumed });
    expect(violations).toEqual([]);
    expect(seen).toEqual([]);
    expect(failedOver / asked).toBeGreaterThan(minVariantsMet);
  },
);
