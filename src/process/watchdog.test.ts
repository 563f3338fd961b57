import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { watchAnswers } from './watchdog.ts';

/** The answer to the last question has arrived. */
const settle = async (): Promise<void> => {
  for (let step = 0; step < 5; step += 1) await Promise.resolve();
};

/** A watchdog of 15 s over a program that does what `behaviour` says. */
function setUp(behaviour: 'answers' | 'refuses' | 'hangs' = 'answers') {
  const clock = createFakeClock();
  const state = { behaviour, asked: 0, silent: 0 };
  const { promise: isUp, resolve: comeUp } = Promise.withResolvers<void>();
  const disarm = watchAnswers({
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
  return { clock, state, disarm, pass, comeUp };
}

describe('the watchdog', () => {
  it('asks once a second and lets a program be that answers', async () => {
    const { state, pass, disarm, clock } = setUp();
    await pass(600);
    expect(state).toMatchObject({ asked: 601, silent: 0 });
    disarm();
    expect(clock.armed()).toBe(0);
  });

  it.each(['hangs', 'refuses'] as const)(
    'reports a program that %s for 15 s, once and not a second before',
    async (behaviour) => {
      const { state, pass, clock } = setUp();
      await pass(5);
      state.behaviour = behaviour;
      await pass(14);
      expect(state.silent).toBe(0);
      await pass(1);
      expect(state.silent).toBe(1);
      await pass(60);
      expect(state.silent).toBe(1);
      expect(clock.armed()).toBe(0);
    },
  );

  it('begins to count anew after each answer', async () => {
    const { state, pass } = setUp();
    for (let round = 0; round < 5; round += 1) {
      state.behaviour = 'refuses';
      await pass(13);
      state.behaviour = 'answers';
      await pass(2);
    }
    expect(state.silent).toBe(0);
  });

  it('gives a program a minute to its first answer', async () => {
    const { state, pass } = setUp('refuses');
    await pass(59);
    expect(state.silent).toBe(0);
    await pass(1);
    expect(state.silent).toBe(1);
  });

  it('counts the silence of a program that is up, though it has answered nothing yet', async () => {
    const { state, pass, comeUp } = setUp('hangs');
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
