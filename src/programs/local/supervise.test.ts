// @suite apart
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { supervise, watchAnswers } from './supervise.ts';

interface Life {
  readonly comeUp: () => void;
  readonly end: (ending: string) => void;
  killed: boolean;
  stopped: boolean;
}

/** Promises that hang together by several steps are settled. */
const settle = async (): Promise<void> => {
  for (let step = 0; step < 20; step += 1) await Promise.resolve();
};

/** A supervisor of a child that lives and dies as the test says. */
function setUp({ answers = () => Promise.resolve(true) }: { readonly answers?: () => Promise<boolean> } = {}) {
  const clock = createFakeClock();
  const lives: Life[] = [];
  const lines: string[] = [];
  const supervised = supervise({
    name: 'The service',
    launch: () => {
      const ended = Promise.withResolvers<string>();
      const up = Promise.withResolvers<void>();
      const life: Life = { comeUp: up.resolve, end: ended.resolve, killed: false, stopped: false };
      lives.push(life);
      return {
        child: {
          pid: lives.length,
          ended: ended.promise,
          lastLines: () => [],
          stop: async () => {
            life.stopped = true;
            ended.resolve('was killed by SIGTERM');
            await ended.promise;
          },
          kill: () => {
            life.killed = true;
            ended.resolve('was killed by SIGKILL');
          },
        },
        isUp: up.promise,
        isAnswering: answers,
      };
    },
    onPid: () => undefined,
    report: (line) => lines.push(line),
    silenceMs: 15_000,
    clock,
  });
  const life = (): Life => {
    const last = lives.at(-1);
    if (last === undefined) throw new Error('nothing was started');
    return last;
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  /** Lets the child come up, live for so long and die. Resolves to how long it is away, in steps of 100 ms. */
  const crash = async (upMs: number | 'never'): Promise<number> => {
    await settle();
    if (upMs !== 'never') {
      life().comeUp();
      await settle();
      for (let passed = 0; passed < upMs; passed += 500) await pass(500);
    }
    const before = lives.length;
    life().end('was killed by SIGKILL');
    await settle();
    await pass(0);
    let waitedMs = 0;
    for (; lives.length === before && waitedMs < 60_000; waitedMs += 100) await pass(100);
    return waitedMs;
  };
  return { clock, supervised, lives, lines, life, pass, crash };
}

describe('the supervisor', () => {
  it('starts a child at once that dies every five seconds, however often it does', async () => {
    const { crash, supervised } = setUp();
    for (let death = 0; death < 20; death += 1) expect(await crash(5_000)).toBe(0);
    await supervised.stop(0);
  });

  it('pauses ever longer before a child that dies as soon as it is up', async () => {
    const { crash, supervised } = setUp();
    const pauses: number[] = [];
    for (let death = 0; death < 8; death += 1) pauses.push(await crash(500));
    expect(pauses).toEqual([0, 200, 500, 1_000, 2_000, 5_000, 5_000, 5_000]);
    await supervised.stop(0);
  });

  it('pauses ever longer before a child that does not come up any more', async () => {
    const { crash, supervised } = setUp();
    const pauses = [await crash(5_000)];
    for (let death = 0; death < 4; death += 1) pauses.push(await crash('never'));
    expect(pauses).toEqual([0, 0, 200, 500, 1_000]);
    await supervised.stop(0);
  });

  it('forgets short lives after one of a second', async () => {
    const { crash, supervised } = setUp();
    for (let death = 0; death < 4; death += 1) await crash(500);
    expect([await crash(1_000), await crash(500), await crash(500)]).toEqual([0, 0, 200]);
    await supervised.stop(0);
  });

  it('does not start a child again that has never been up, and says how it ended', async () => {
    const { supervised, lives, life } = setUp();
    life().end('ended with code 1');
    expect(await supervised.up).toBe('The service ended with code 1.');
    expect(lives).toHaveLength(1);
  });

  it('ends a child that does not answer any more, and starts it again at once', async () => {
    let answers = true;
    const { supervised, lives, lines, life, pass } = setUp({ answers: () => Promise.resolve(answers) });
    life().comeUp();
    await pass(5_000);
    answers = false;
    for (let second = 0; second < 14; second += 1) await pass(1_000);
    expect(lives).toHaveLength(1);
    for (let second = 0; second < 5; second += 1) await pass(1_000);
    expect(lives[0]?.killed).toBe(true);
    expect(lives).toHaveLength(2);
    expect(lines[0]).toBe('The service stopped answering; ending it.');
    await supervised.stop(0);
  });

  it('does not watch a child that it is ending, and leaves no timer behind', async () => {
    const { supervised, clock, life, pass } = setUp();
    life().comeUp();
    await pass(5_000);
    await supervised.stop(0);
    expect(life()).toMatchObject({ stopped: true, killed: false });
    expect(clock.armed()).toBe(0);
  });
});

/** A watchdog of 15 s over a program that does what `behaviour` says. */
function setUpWatchdog(behaviour: 'answers' | 'refuses' | 'hangs' = 'answers') {
  const clock = createFakeClock();
  const state = { behaviour, asked: 0, silent: 0 };
  const { promise: isUp, resolve: comeUp } = Promise.withResolvers<void>();
  const cancel = watchAnswers({
    ask: () => {
      state.asked += 1;
      if (state.behaviour === 'hangs') return new Promise(() => undefined);
      return Promise.resolve(state.behaviour === 'answers');
    },
    isUp,
    silenceMs: 15_000,
    onSilent: () => {
      state.silent += 1;
    },
    clock,
  });
  /** Each second by itself, so that an answer arrives before the next one. */
  const pass = async (seconds: number): Promise<void> => {
    await settle();
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1000);
      await settle();
    }
  };
  return { clock, state, cancel, pass, comeUp };
}

describe('the watchdog', () => {
  it('asks every three seconds and lets a program be that answers', async () => {
    const { state, pass, cancel, clock } = setUpWatchdog();
    await pass(600);
    expect(state).toMatchObject({ asked: 201, silent: 0 });
    cancel();
    expect(clock.armed()).toBe(0);
  });

  it.each(['hangs', 'refuses'] as const)(
    'reports a program that %s for 15 s after a question, once and not a second before',
    async (behaviour) => {
      const { state, pass, clock } = setUpWatchdog();
      await pass(5);
      state.behaviour = behaviour;
      await pass(15);
      expect(state.silent).toBe(0);
      await pass(1);
      expect(state.silent).toBe(1);
      await pass(60);
      expect(state.silent).toBe(1);
      expect(clock.armed()).toBe(0);
    },
  );

  it('begins to count anew after each answer', async () => {
    const { state, pass } = setUpWatchdog();
    for (let round = 0; round < 5; round += 1) {
      state.behaviour = 'refuses';
      await pass(13);
      state.behaviour = 'answers';
      await pass(2);
    }
    expect(state.silent).toBe(0);
  });

  it('gives a program a minute to its first answer', async () => {
    const { state, pass } = setUpWatchdog('refuses');
    await pass(59);
    expect(state.silent).toBe(0);
    await pass(1);
    expect(state.silent).toBe(1);
  });

  it('counts the silence of a program that is up, though it has answered nothing yet', async () => {
    const { state, pass, comeUp } = setUpWatchdog('hangs');
    await pass(10);
    comeUp();
    await pass(14);
    expect(state.silent).toBe(0);
    await pass(1);
    expect(state.silent).toBe(1);
  });

  it('does not count what it comes late itself, as on a machine that was suspended', async () => {
    const clock = createFakeClock();
    let silent = 0;
    const due: (() => void)[] = [];
    watchAnswers({
      ask: () => Promise.resolve(true),
      isUp: Promise.resolve(),
      silenceMs: 15_000,
      onSilent: () => {
        silent += 1;
      },
      // An hour passes before each timer is served: the program slept as long.
      clock: {
        after: (_, run) => {
          due.push(run);
          return () => undefined;
        },
      },
    });
    for (let step = 0; step < 10; step += 1) {
      clock.advance(3_600_000);
      due.shift()?.();
    }
    expect(silent).toBe(0);
  });
});
