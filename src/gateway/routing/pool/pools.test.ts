import { describe, expect, it } from 'vitest';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { createPools, type Pools } from './pools.ts';

const names = ['a', 'b', 'c'];
const among = names.map((name) => ({ name, success: 1 }));
const promptOf = (first: number, count: number): PoolPrompt => ({
  digests: Array.from({ length: count }, (_, index) => first + index),
  ends: Array.from({ length: count }, (_, index) => (index + 1) * 250),
  tokens: count * 250 + 20,
});

const pick = (pools: Pools, now: number, prompt: PoolPrompt, owner?: string) => {
  const picked = pools.of('pool').pick(now, { prompt, among, owner, turn: 0.5 });
  return { name: names[picked?.index ?? -1], why: picked?.why };
};

/** Two replicas. `share` brings what the first one has to report to the second one. */
function twoReplicas() {
  const [one, two] = [createPools({ isReported: true }), createPools({ isReported: true })];
  const share = (now: number): void => two.heard(now, 'one', one.takeReport(now));
  return { one, two, share };
}

describe('the pools of two replicas', () => {
  it('send the turns of a conversation to one endpoint once they have shared the first', () => {
    const { one, two, share } = twoReplicas();
    const attempt = one.of('pool').begin(0, { name: 'b', prompt: promptOf(0, 20), stream: true });
    attempt.first(500);
    attempt.completed(2000, 100);
    expect(pick(two, 2000, promptOf(0, 21)).why).toBe('untried');
    share(2000);
    expect(pick(two, 2100, promptOf(0, 21))).toEqual({ name: 'b', why: 'holder' });
  });

  it('spare an endpoint on which the other replica has work under way, until it has ended', () => {
    const { one, two, share } = twoReplicas();
    const attempts = ['a', 'b'].map((name, at) =>
      one.of('pool').begin(0, { name, prompt: promptOf(1000 * (at + 1), 200), stream: true }),
    );
    share(50);
    expect(pick(two, 60, promptOf(0, 20)).name).toBe('c');
    for (const attempt of attempts) attempt.failed();
    two.of('pool').begin(80, { name: 'c', prompt: promptOf(5000, 200), stream: true });
    expect(one.hasReport(80)).toBe(true);
    share(80);
    expect(pick(two, 90, promptOf(0, 20)).name).not.toBe('c');
  });

  it('forget the work of a replica that is silent for a second, and not of one that repeats it', () => {
    const { one, two, share } = twoReplicas();
    for (const name of ['a', 'b']) one.of('pool').begin(0, { name, prompt: promptOf(0, 200), stream: true });
    two.of('pool').begin(0, { name: 'c', prompt: promptOf(9000, 20), stream: true });
    share(300);
    expect(one.hasReport(400)).toBe(false);
    expect(one.hasReport(600)).toBe(true);
    share(900);
    two.forgetSilent(1800);
    expect(pick(two, 1800, promptOf(7000, 20)).name).toBe('c');
    two.forgetSilent(1900);
    expect(pick(two, 1900, promptOf(7000, 20)).name).not.toBe('c');
  });

  it('learn the size of a cache from the reports of both', () => {
    const { one, two, share } = twoReplicas();
    const filler = promptOf(0, 1000);
    for (let round = 0; round < 40; round += 1) {
      const attempt = one.of('pool').begin(round, { name: 'a', prompt: filler, stream: true });
      attempt.cached({ promptTokens: filler.tokens, cachedTokens: 0 });
      attempt.completed(round, 10);
      share(round);
    }
    const held = (pools: Pools): number =>
      pools.of('pool').pick(100, { prompt: filler, among: among.slice(0, 1), turn: 0 })?.heldTokens ?? 0;
    expect(held(one)).toBeLessThan(120_000);
    expect(held(two)).toBe(held(one));
  });

  it('report nothing while nothing is under way', () => {
    const { one } = twoReplicas();
    expect(one.hasReport(10_000)).toBe(false);
    const attempt = one.of('pool').begin(0, { name: 'a', prompt: promptOf(0, 4), stream: true });
    expect(one.takeReport(50).sent).toHaveLength(1);
    expect(one.takeReport(100)).toEqual({ endpoints: [], sent: [] });
    attempt.completed(200, 10);
    expect(one.takeReport(250).endpoints).toMatchObject([{ endpoint: 'a', underWay: 0, aheadTokens: 0 }]);
    expect(one.hasReport(10_000)).toBe(false);
  });

  it('report bounded amounts', () => {
    const { one } = twoReplicas();
    for (let at = 0; at < 600; at += 1)
      one.of('pool').begin(0, { name: 'a', prompt: promptOf(at, at === 0 ? 2000 : 1), stream: true });
    const { sent, endpoints } = one.takeReport(50);
    expect(sent).toHaveLength(256);
    expect(sent[0]?.prompt.digests).toHaveLength(1024);
    expect(endpoints).toMatchObject([{ underWay: 600 }]);
  });
});

describe('replicas that share nothing', () => {
  it('send a prompt to its owner, although another endpoint is known to hold a part of it', () => {
    const pools = createPools({ isReported: true });
    const attempt = pools.of('pool').begin(0, { name: 'a', prompt: promptOf(0, 4), stream: true });
    attempt.first(100);
    attempt.completed(1000, 10);
    expect(pick(pools, 2000, promptOf(0, 20)).name).toBe('a');
    expect(pick(pools, 2000, promptOf(0, 20), 'b')).toEqual({ name: 'b', why: 'holder' });
  });

  it('leave an owner that has much more to do than it would take to compute the prompt elsewhere', () => {
    const pools = createPools({ isReported: true });
    for (let at = 0; at < 10; at += 1)
      pools.of('pool').begin(0, { name: 'b', prompt: promptOf(1000 * at, 200), stream: true });
    expect(pick(pools, 10, promptOf(20_000, 20), 'b').name).not.toBe('b');
  });
});
