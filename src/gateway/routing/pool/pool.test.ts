import { describe, expect, it } from 'vitest';
import type { PoolAttempt } from './pool-attempt.ts';
import type { EngineLoad } from '../../core/engine-load.ts';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { createEndpointPool } from './pool.ts';

const names = ['a', 'b', 'c'];
const promptOf = (first: number, count: number): PoolPrompt => ({
  digests: Array.from({ length: count }, (_, index) => first + index),
  ends: Array.from({ length: count }, (_, index) => (index + 1) * 250),
  tokens: count * 250 + 20,
});

/** A pool whose endpoints compute prompts at known speeds, one after the other. */
function begin(msPerToken: Readonly<Record<string, number>> = { a: 0.1, b: 0.1, c: 0.1 }) {
  const pool = createEndpointPool(undefined);
  let now = 0;
  const send = (
    prompt: PoolPrompt,
    from: readonly string[] = names,
  ): { name: string; why: string; attempt: PoolAttempt } => {
    const picked = pool.pick(now, { prompt, among: from.map((name) => ({ name, success: 1 })), turn: 0.5 });
    const name = from[picked?.index ?? -1];
    if (picked === undefined || name === undefined) throw new Error('nothing was picked');
    return { name, why: picked.why, attempt: pool.begin(now, { name, prompt, stream: true }) };
  };
  return {
    pool,
    send,
    now: () => now,
    wait: (ms: number) => {
      now += ms;
    },
    /** The engine of an endpoint reports this load, twice. */
    report: (name: string, load: EngineLoad) => {
      for (let time = 0; time < 2; time += 1) pool.endpoint(name).asked(now)(now, load);
    },
    /** A whole answer, with nothing beside it. */
    serve: (prompt: PoolPrompt, own: number, from: readonly string[] = names): { name: string; why: string } => {
      const { name, why, attempt } = send(prompt, from);
      now += 20 + own * (msPerToken[name] ?? 0.1);
      attempt.first(now);
      attempt.cached({ promptTokens: prompt.tokens, cachedTokens: prompt.tokens - own });
      now += 2000;
      attempt.completed(now, 100);
      now += 3000;
      return { name, why };
    },
  };
}

/** Each endpoint gets three prompts at once, again and again. `msAfter`: the time to a first token, by the number of prompts before. */
function serveThreeAtOnce({ send, wait, now }: ReturnType<typeof begin>, msAfter: (before: number) => number): void {
  for (let round = 0; round < 20; round += 1)
    for (const name of names) {
      const started = now();
      const sent = [0, 1, 2].map((at) =>
        send(promptOf(round * 10_000 + names.indexOf(name) * 1000 + at * 100, 16), [name]),
      );
      for (const [before, { attempt }] of sent.entries()) attempt.first(started + msAfter(before));
      wait(5000);
      for (const { attempt } of sent) attempt.completed(now(), 1);
    }
}

describe('a pool of endpoints', () => {
  it('sends the turns of a conversation where the first one went', () => {
    const { serve } = begin();
    const first = serve(promptOf(0, 20), 5020);
    expect(first.why).toBe('untried');
    for (const turn of [1, 2, 3]) {
      expect(serve(promptOf(0, 20 + turn), 270)).toEqual({ name: first.name, why: 'holder' });
    }
  });

  it('sends the next conversation to an endpoint that was added, although others are known to be fast', () => {
    const { serve } = begin({ a: 0.01, b: 0.01, c: 0.01 });
    for (const [index, first] of [0, 1000, 2000, 3000].entries())
      expect(['a', 'b']).toContain(serve(promptOf(first, 20 + index), 5020, ['a', 'b']).name);
    expect(serve(promptOf(4000, 20), 5020)).toEqual({ name: 'c', why: 'untried' });
  });

  it('sends conversations at once to different endpoints', () => {
    const { send } = begin();
    const picked = [0, 1000, 2000].map((first) => send(promptOf(first, 20)).name);
    expect(new Set(picked).size).toBe(3);
  });

  it('spreads a hot beginning over a second endpoint once the first one has enough to do', () => {
    const { send, serve, wait } = begin();
    const { name } = serve(promptOf(0, 8), 2020);
    const at: string[] = [];
    for (let request = 0; request < 40; request += 1) {
      const { digests, ends } = promptOf(0, 8);
      const own = promptOf(10_000 + request * 100, 16);
      at.push(
        send({
          digests: [...digests, ...own.digests],
          ends: [...ends, ...own.ends.map((end) => end + 2000)],
          tokens: 6020,
        }).name,
      );
      wait(5);
    }
    expect(at[0]).toBe(name);
    const counts = names.map((one) => at.filter((other) => other === one).length);
    expect(Math.min(...counts)).toBeGreaterThan(40 / 6);
  });

  it.each([
    ['stays', 'works on prompts at once', 'holder', () => 420],
    ['leaves', 'works on one prompt after the other', 'sooner', (before: number) => 420 * (before + 1)],
  ] as const)('%s with the holder of a beginning if it %s', (_, __, why, msAfter) => {
    const made = begin();
    const { send, serve } = made;
    serveThreeAtOnce(made, msAfter);
    const { name } = serve(promptOf(9_000_000, 20), 5020, ['a']);
    for (let other = 0; other < 5; other += 1) send(promptOf(8_000_000 + other * 100, 16), [name]);
    expect(send(promptOf(9_000_000, 21)).why).toBe(why);
  });

  it('leaves the holder that works on prompts at once when its engine reports that others wait there', () => {
    const made = begin();
    const { send, serve, report } = made;
    serveThreeAtOnce(made, () => 420);
    serve(promptOf(9_000_000, 20), 5020, ['a']);
    report('a', { running: 8, waiting: 8 });
    expect(send(promptOf(9_000_000, 21)).why).toBe('sooner');
  });

  it('gives an endpoint that is three times as slow less work', () => {
    const { send, serve, wait } = begin({ a: 0.3, b: 0.1, c: 0.1 });
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const counts = new Map(names.map((name) => [name, 0]));
    for (let request = 0; request < 70; request += 1) {
      const { name } = send(promptOf(5_000_000 + request * 100, 16));
      counts.set(name, (counts.get(name) ?? 0) + 1);
      wait(1);
    }
    expect(counts.get('a') ?? 0).toBeLessThan(70 / 5);
    expect(counts.get('a') ?? 0).toBeGreaterThan(70 / 20);
  });

  it('counts an attempt that fails no longer, and hears no more of it', () => {
    const { send, serve } = begin();
    serve(promptOf(0, 4), 1020, ['a']);
    const lost = send(promptOf(100, 400), ['a']);
    expect(send(promptOf(0, 4), ['a', 'b']).name).toBe('b');
    lost.attempt.failed();
    lost.attempt.completed(0, 50);
    lost.attempt.first(0);
    expect(send(promptOf(0, 4), ['a', 'b']).name).toBe('a');
  });

  it('forgets an endpoint that has gone', () => {
    const { pool, serve } = begin();
    const { name } = serve(promptOf(0, 20), 5020);
    pool.retain(new Set(names.filter((other) => other !== name)));
    expect(serve(promptOf(0, 20), 5020).why).toBe('untried');
  });

  it('finds out that a slow endpoint has become as fast as the others, with one attempt in 250', () => {
    const speeds = { a: 2, b: 0.1, c: 0.1 };
    const { pool, serve } = begin(speeds);
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const share = (from: number, requests: number): number => {
      let onA = 0;
      for (let request = 0; request < requests; request += 1)
        if (serve(promptOf(from + request * 100, 16), 4020).name === 'a') onA += 1;
      return onA / requests;
    };
    const slow = share(10_000_000, 400);
    expect(slow).toBeGreaterThan(0);
    expect(slow).toBeLessThan(0.011);
    speeds.a = 0.1;
    share(20_000_000, 300);
    const among = [{ name: 'a', success: 1 }];
    const { firstMs = Infinity } = pool.pick(1e7, { prompt: promptOf(30_000_000, 16), among, turn: 0 }) ?? {};
    // It takes 422 ms now. Before, it took 8 s.
    expect(firstMs).toBeLessThan(700);
  });

  it('does not find out about an endpoint with an attempt that is made only if another one fails', () => {
    const { pool, now, serve } = begin({ a: 2, b: 0.1, c: 0.1 });
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    for (let request = 0; request < 300; request += 1)
      serve(promptOf(10_000_000 + request * 100, 16), 4020, ['b', 'c']);
    const ask = { prompt: promptOf(20_000_000, 16), among: names.map((name) => ({ name, success: 1 })), turn: 0.5 };
    expect(pool.pick(now(), { ...ask, mayExplore: false })?.why).not.toBe('explored');
    expect(pool.pick(now(), ask)).toMatchObject({ index: 0, why: 'explored' });
  });

  it('tries a new endpoint, although the others are faster than it is assumed to be', () => {
    const { serve } = begin({ a: 0.005, b: 0.005, c: 0.005 });
    for (let request = 0; request < 60; request += 1)
      for (const name of ['a', 'b']) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const picked = new Set<string>();
    for (let request = 0; request < 300; request += 1)
      picked.add(serve(promptOf(9_000_000 + request * 100, 16), 4020).name);
    expect(picked.has('c')).toBe(true);
  });

  it('leaves an endpoint while its oldest stream waits for its first token for long, though it holds the prompt', () => {
    const { send, serve, wait } = begin();
    for (let request = 1; request <= 20; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    serve(promptOf(0, 20), 5020, ['a']);
    const stuck = send(promptOf(0, 21), ['a']);
    expect(send(promptOf(0, 21)).name).toBe('a');
    wait(5000);
    const other = send(promptOf(0, 21));
    expect(other).toMatchObject({ why: 'sooner' });
    expect(other.name).not.toBe('a');
    other.attempt.failed();
    stuck.attempt.failed();
  });

  it('asks a slow endpoint again when it has not answered for long, and not before', () => {
    const { send, serve, wait } = begin({ a: 2, b: 0.1, c: 0.1 });
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const askedAmong = (count: number, first: number): ReadonlySet<string> =>
      new Set(
        Array.from({ length: count }, (_, at) => {
          const { name, attempt } = send(promptOf(first + at * 100, 16), ['b', 'a']);
          attempt.failed();
          return name;
        }),
      );
    serve(promptOf(8_000_000, 16), 4020, ['a']);
    expect(askedAmong(5, 9_000_000)).toEqual(new Set(['b']));
    wait(60_000);
    serve(promptOf(8_100_000, 16), 4020, ['b']);
    expect(askedAmong(5, 9_100_000)).toContain('a');
  });

  it('goes on asking an endpoint that failed and was passed over, as long as it does not fail', () => {
    const { pool, serve } = begin();
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const among = names.map((name) => ({ name, success: name === 'a' ? 0.01 : 1 }));
    let onA = 0;
    for (let request = 0; request < 270; request += 1) {
      const at = 1e7 + request * 5000;
      const prompt = promptOf(10_000_000 + request * 100, 16);
      const name = names[pool.pick(at, { prompt, among, turn: 0.5 })?.index ?? 0] ?? 'a';
      if (name === 'a') onA += 1;
      const attempt = pool.begin(at, { name, prompt, stream: true });
      attempt.first(at + 422);
      attempt.completed(at + 2422, 100);
    }
    expect(onA).toBeGreaterThanOrEqual(10);
  });

  it.each([
    ['asks', true],
    ['leaves', false],
  ])('%s an endpoint whose record is bad, after a probe: %s', (_, isProbe) => {
    const { pool, serve, now } = begin();
    for (let request = 0; request < 60; request += 1)
      for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
    const probe = pool.begin(now(), { name: 'a', prompt: promptOf(8_000_000, 16), stream: true, isProbe });
    probe.first(now() + 422);
    probe.completed(now() + 2422, 100);
    // Its record improves by each attempt.
    let successes = 1;
    const picks = Array.from({ length: 20 }, (__, request) => {
      const at = now() + 3000 + request * 5000;
      const among = names.map((name) => ({ name, success: name === 'a' ? successes / (successes + 4) : 1 }));
      const prompt = promptOf(9_000_000 + request * 100, 16);
      const picked = pool.pick(at, { prompt, among, turn: 0.9 });
      const name = names[picked?.index ?? 0] ?? 'a';
      if (name === 'a') successes += 1;
      const attempt = pool.begin(at, { name, prompt, stream: true });
      attempt.first(at + 422);
      attempt.completed(at + 2422, 100);
      return name;
    });
    expect(picks.includes('a')).toBe(isProbe);
    if (isProbe) expect(picks).not.toContain('b');
  });

  describe('whose engines report their load', () => {
    /** Three endpoints that are known well, of which `a` holds the prompt from 0 on. */
    function known(): ReturnType<typeof begin> {
      const made = begin();
      for (let request = 1; request <= 20; request += 1)
        for (const name of names) made.serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
      made.serve(promptOf(0, 20), 5020, ['a']);
      return made;
    }

    it('leaves the holder of a prompt while others wait there, and not while they only run', () => {
      const { send, report } = known();
      report('a', { running: 8, waiting: 0 });
      const stays = send(promptOf(0, 21));
      expect(stays).toMatchObject({ name: 'a', why: 'holder' });
      stays.attempt.failed();
      report('a', { running: 8, waiting: 8 });
      expect(send(promptOf(0, 21))).toMatchObject({ why: 'sooner' });
    });

    it('goes back to it when they are gone, or the engine reports no more', () => {
      const { send, report, wait } = known();
      const leaves = (): boolean => {
        const { name, attempt } = send(promptOf(0, 21));
        attempt.failed();
        return name !== 'a';
      };
      report('a', { running: 8, waiting: 8 });
      expect(leaves()).toBe(true);
      report('a', { running: 1, waiting: 0 });
      expect(leaves()).toBe(false);
      report('a', { running: 8, waiting: 8 });
      expect(leaves()).toBe(true);
      wait(5001);
      expect(leaves()).toBe(false);
    });

    it('does not take its own requests for those of others, waiting or running', () => {
      const { pool, send, report, wait, now } = known();
      const outlook = (): number | undefined =>
        pool.pick(now(), { prompt: promptOf(9e6, 4), among: [{ name: 'a', success: 1 }], turn: 0 })?.firstMs;
      const { attempt } = send(promptOf(7e6, 40), ['a']);
      const whole = pool.begin(now(), { name: 'a', prompt: promptOf(8e6, 40), stream: false });
      const before = outlook();
      report('a', { running: 0, waiting: 2 });
      expect(outlook()).toBe(before);
      wait(10);
      attempt.first(now());
      const after = outlook();
      report('a', { running: 2, waiting: 0 });
      expect(outlook()).toBe(after);
      attempt.failed();
      whole.failed();
      const idle = outlook() ?? Infinity;
      report('a', { running: 0, waiting: 2 });
      expect(outlook()).toBeGreaterThan(idle);
    });

    it('does not forget that an endpoint is slow while others wait there', () => {
      const { pool, serve, report, wait, now } = begin({ a: 2, b: 0.1, c: 0.1 });
      for (let request = 0; request < 60; request += 1)
        for (const name of names) serve(promptOf(request * 10_000 + names.indexOf(name) * 1000, 16), 4020, [name]);
      const among = names.map((name) => ({ name, success: 1 }));
      const at = (): string | undefined =>
        names[pool.pick(now(), { prompt: promptOf(9e6, 16), among, turn: 0 })?.index ?? -1];
      wait(60_000);
      serve(promptOf(8_000_000, 16), 4020, ['b']);
      serve(promptOf(8_100_000, 16), 4020, ['c']);
      expect(at()).toBe('a');
      report('a', { running: 1, waiting: 1 });
      expect(at()).not.toBe('a');
    });
  });

  describe('learns from an answer that does not stream', () => {
    /** The time to the first token that is expected of an endpoint, after whole answers that took so long. */
    function expectedAfter(tookMs: number): { readonly before: number; readonly after: number } {
      const { pool, serve } = begin();
      for (let request = 0; request < 60; request += 1) serve(promptOf(request * 10_000, 16), 4020, ['a']);
      const first = (at: number): number =>
        pool.pick(at, { prompt: promptOf(9e6, 16), among: [{ name: 'a', success: 1 }], turn: 0 })?.firstMs ?? 0;
      const before = first(1e7);
      for (let request = 1; request <= 10; request += 1) {
        const at = 1e7 + request * 100_000;
        const attempt = pool.begin(at, { name: 'a', prompt: promptOf(1e7 + request * 1000, 16), stream: false });
        attempt.completed(at + tookMs, 100);
      }
      return { before, after: first(2e7) };
    }

    it('that took long, where its output alone does not', () => {
      const { before, after } = expectedAfter(20_000);
      expect(after).toBeGreaterThan(before * 5);
    });

    it('that was there before its first token was expected', () => {
      const { before, after } = expectedAfter(100);
      expect(after).toBeLessThan(before / 2);
    });

    it('nothing, if most of its time may have been that of its output', () => {
      const { before, after } = expectedAfter(3500);
      expect(after).toBe(before);
    });
  });
});
