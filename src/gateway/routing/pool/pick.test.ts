import { describe, expect, it } from 'vitest';
import { type Outlook, pick } from './pick.ts';

const idle: Outlook = {
  ...{ heldTokens: 0, firstMs: 500, errorMs: 50, workMs: 450, slowerMs: 0, isUntried: false },
};
const holder: Outlook = { ...idle, heldTokens: 9000, firstMs: 100, errorMs: 10, workMs: 50 };
const quiet = { busy: 0, turn: 0 };

describe('the pick', () => {
  it('is none of none, and the only one', () => {
    expect(pick([], quiet)).toBeUndefined();
    expect(pick([idle], quiet)).toEqual({ index: 0, why: 'only' });
  });

  it('is the endpoint that holds the beginning of the prompt', () => {
    expect(pick([idle, holder, idle], quiet)).toEqual({ index: 1, why: 'holder' });
  });

  it('is another one when the holder has so much to do that it answers later', () => {
    const full = { ...holder, firstMs: 700, errorMs: 70 };
    expect(pick([full, idle], quiet)).toEqual({ index: 1, why: 'sooner' });
  });

  it('stays with the holder for longer when endpoints are busy, because the work would delay others', () => {
    const full = { ...holder, firstMs: 700, errorMs: 70 };
    expect(pick([full, idle], { ...quiet, busy: 0.5 })).toEqual({ index: 0, why: 'holder' });
    const overfull = { ...holder, firstMs: 6000, errorMs: 600 };
    expect(pick([overfull, idle], { ...quiet, busy: 1 })).toEqual({ index: 1, why: 'sooner' });
  });

  it('is the holder when it answers a little later, by less than half of the error of the prediction', () => {
    const later = { ...holder, firstMs: 540, errorMs: 50, workMs: 450 };
    expect(pick([{ ...idle, errorMs: 100 }, later], quiet)).toEqual({ index: 1, why: 'holder' });
    expect(pick([{ ...idle, errorMs: 60 }, later], quiet)).toEqual({ index: 0, why: 'sooner' });
  });

  it('is the second holder of a hot beginning as soon as the first one has much more to do', () => {
    expect(
      pick(
        [
          { ...holder, slowerMs: 900 },
          { ...holder, slowerMs: 20 },
        ],
        quiet,
      ),
    ).toEqual({ index: 1, why: 'holder' });
  });

  it('is by chance one of two whose costs differ by less than a quarter of the error', () => {
    const both = [
      { ...idle, firstMs: 500, errorMs: 40 },
      { ...idle, firstMs: 509, errorMs: 40 },
    ];
    expect([0.1, 0.9].map((turn) => pick(both, { busy: 0, turn })?.index)).toEqual([0, 1]);
    const exact = both.map((outlook) => ({ ...outlook, errorMs: 30 }));
    expect([0.1, 0.9].map((turn) => pick(exact, { busy: 0, turn })?.index)).toEqual([0, 0]);
  });

  it('is, of two whose costs are equal, the one that had no attempt', () => {
    const untried = { ...idle, isUntried: true };
    for (const turn of [0.1, 0.9])
      expect(pick([idle, untried], { busy: 0, turn })).toEqual({ index: 1, why: 'untried' });
  });

  it('is the one with the fewest answers where prompts are short and answers long', () => {
    const beside = (underWay: number): Outlook => ({ ...idle, firstMs: 30, errorMs: 3, slowerMs: underWay * 80 });
    expect(pick([beside(12), beside(9), beside(11)], quiet)).toEqual({ index: 1, why: 'least-work' });
  });

  it('leaves a holder whose answers would become much slower', () => {
    expect(pick([{ ...holder, slowerMs: 9000 }, idle], quiet)).toEqual({ index: 1, why: 'sooner' });
  });

  it('is a slow endpoint only when the others are full', () => {
    const slow = { ...idle, firstMs: 1500, workMs: 1350 };
    expect(pick([slow, idle], quiet)?.index).toBe(1);
    expect(pick([slow, { ...idle, firstMs: 4000 }], quiet)?.index).toBe(0);
  });

  it('tries an endpoint that has not been tried, if it may be as good', () => {
    const untried = { ...idle, isUntried: true };
    expect(pick([{ ...idle, slowerMs: 600 }, untried], quiet)).toEqual({ index: 1, why: 'untried' });
  });

  it('is made by chance among equals', () => {
    const all = [idle, idle, idle, { ...idle, slowerMs: 600 }];
    const picked = [0, 0.34, 0.67, 0.99].map((turn) => pick(all, { ...quiet, turn })?.index);
    expect(picked).toEqual([0, 1, 2, 2]);
  });
});
