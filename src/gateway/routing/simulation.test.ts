import { describe, expect, it } from 'vitest';
import {
  type Condition,
  createSimulation,
  type SimulatedEngine,
  shareOf,
} from '../../../test/support/route-simulation.ts';

const sizes = [8, 16, 32];

/** Engines of 8, 16 and 32 slots, and how long an answer takes on each. */
function unequal(times: readonly number[], stream: boolean): readonly SimulatedEngine[] {
  return times.map((ms, index) => ({
    ...{ name: 'abc'[index] ?? '', slots: sizes[index] ?? 0 },
    ...(stream ? { firstMs: ms / 4, restMs: (ms * 3) / 4 } : { firstMs: ms }),
  }));
}

describe('load', () => {
  it.each(
    [false, true].flatMap((stream) =>
      [0.6, 0.75, 0.9].flatMap((load) =>
        [
          [400, 400, 400],
          [300, 400, 600],
          [600, 400, 300],
        ].map((times) => [stream ? 'streams' : 'whole answers', load, times.join(' '), times] as const),
      ),
    ),
  )('of %s at %d of what there is follows capacity within a tenth, at %s ms', (transport, load, _, times) => {
    const stream = transport === 'streams';
    const capacities = times.map((ms, index) => ((sizes[index] ?? 0) / ms) * 1000);
    const total = capacities.reduce((sum, capacity) => sum + capacity, 0);
    const engines = unequal(times, stream);
    const simulation = createSimulation({ engines, seed: 5, stream, perSecond: total * load });
    simulation.run(1000);
    const served = simulation.run(9000).filter(({ servedBy }) => servedBy !== undefined);
    for (const [index, { name }] of engines.entries()) {
      const share = served.filter(({ servedBy }) => servedBy === name).length / served.length;
      const fair = (capacities[index] ?? 0) / total;
      expect(Math.abs(share / fair - 1), `${name}: ${share} of ${fair}`).toBeLessThan(0.1);
    }
  });
});

const equals: readonly SimulatedEngine[] = ['a', 'b', 'c'].map((name) => ({
  ...{ name, slots: 32, firstMs: 200, restMs: 400 },
}));

/** What a route gets that has turned bad: of the first thirty requests, of the many after them, and when it is well again. */
function turning(condition: Condition, options: { readonly hedging: boolean; readonly seed: number }) {
  const simulation = createSimulation({ engines: equals, stream: true, perSecond: 15, ...options });
  const before = simulation.run(600);
  simulation.turn('a', condition);
  simulation.run(30);
  const after = simulation.run(300);
  simulation.turn('a', 'well');
  simulation.run(15 * 60);
  const back = simulation.run(600);
  return { before: shareOf(before, 'a'), after: shareOf(after, 'a'), back: shareOf(back, 'a'), simulation };
}

describe('a route', () => {
  it.each<readonly [string, Condition, boolean, number]>([
    ['turns ten times slower', 'slow', false, 0.1],
    ['turns ten times slower, hedged', 'slow', true, 0.1],
    ['fails three requests in ten', 'flaky', false, 0.15],
    ['fails every second request', 'half-broken', false, 0.1],
    ['fails every second request, hedged', 'half-broken', true, 0.1],
    ['fails every request', 'broken', false, 0.03],
    ['fails every request, hedged', 'broken', true, 0.03],
    ['swallows every request, hedged', 'silent', true, 0.03],
  ])(
    'that %s is left within thirty requests, and gets its share back when it is well',
    (_, condition, hedging, most) => {
      for (const seed of [1, 2, 3]) {
        const { before, after, back, simulation } = turning(condition, { hedging, seed });
        expect(before).toBeCloseTo(1 / 3, 1);
        expect(after).toBeLessThan(most);
        expect(back).toBeCloseTo(1 / 3, 1);
        expect(simulation.requests.filter(({ failed }) => failed === true)).toEqual([]);
      }
    },
  );

  it('that was hedged leaves nothing in flight', () => {
    const { simulation } = turning('silent', { hedging: true, seed: 4 });
    simulation.clock.advance(60_000);
    const counts = simulation.routes.map((route) =>
      simulation.health.status(route, { stream: true, capabilities: [] }),
    );
    expect(counts.map(({ inFlight }) => inFlight)).toEqual([0, 0, 0]);
    expect(simulation.clock.armed()).toBe(0);
  });
});

describe('conversations', () => {
  /** Of the turns after the first, the share that went where the turn before went. */
  function staying(sessions: number, perSecond: number): number {
    const simulation = createSimulation({
      ...{ engines: equals.map((engine) => ({ ...engine, slots: 8 })), seed: 6, stream: true, perSecond },
      conversationOf: (request) => request % sessions,
    });
    const requests = simulation.run(3000);
    const served = requests.filter(({ first }) => first !== undefined);
    const followers = served.filter(({ number }) => requests[number - sessions]?.servedBy !== undefined);
    const stayed = followers.filter(({ number, first }) => requests[number - sessions]?.servedBy === first);
    return stayed.length / followers.length;
  }

  it('stay on their route where there is room', () => {
    // Chance gives one route more of sixty conversations than another, and where it has many at once it lends some.
    expect(staying(60, 15)).toBeGreaterThan(0.92);
    expect(staying(60, 5)).toBeGreaterThan(0.99);
  });

  /** One prompt for all. */
  const popular = (perSecond: number) =>
    createSimulation({
      ...{ engines: equals.map((engine) => ({ ...engine, slots: 8 })), seed: 7, stream: true, perSecond },
      conversationOf: () => 1,
    });

  it('spill over before their route is full', () => {
    const requests = popular(12).run(2000);
    // The others have room, so that hardly any request gets the last slot.
    expect(requests.filter(({ inFlight }) => inFlight === 8).length / requests.length).toBeLessThan(0.03);
    expect(requests.some(({ failed }) => failed === true)).toBe(false);
  });

  it('spread over all routes where one would be too small', () => {
    const requests = popular(25).run(2000);
    const shares = ['a', 'b', 'c'].map((name) => shareOf(requests, name));
    expect(Math.max(...shares)).toBeLessThan(0.6);
    expect(requests.filter(({ failed }) => failed === true).length / requests.length).toBeLessThan(0.02);
  });
});
