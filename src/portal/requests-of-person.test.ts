import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './callers.ts';
import { Refusal } from '../books/core/operator-refusals.ts';
import { createPersonLimit } from './requests-of-person.ts';

const callerOf = (name: string, hash: string | undefined): Caller =>
  ({ actor: { kind: 'portal-user', name }, session: hash && { hash, credential: name } }) as unknown as Caller;

class Raw extends EventEmitter {
  closed = false;
  end(): void {
    this.closed = true;
    this.emit('close');
  }
}

function setUp(take = createPersonLimit()) {
  const ask = (name: string, session: string | undefined, url = '/api/v1/usage') => {
    const raw = new Raw();
    const state = { raw, end: 'waits' as 'waits' | 'runs' | number };
    take(callerOf(name, session), { routeOptions: { url } } as FastifyRequest, { raw } as unknown as FastifyReply).then(
      () => (state.end = 'runs'),
      (error: unknown) => (state.end = error instanceof Refusal ? error.status : 500),
    );
    return state;
  };
  const many = (count: number, ...of: Parameters<typeof ask>) => Array.from({ length: count }, () => ask(...of));
  return { ask, many };
}

const counts = (asked: readonly { readonly end: unknown }[]) => ({
  running: asked.filter(({ end }) => end === 'runs').length,
  waiting: asked.filter(({ end }) => end === 'waits').length,
  refused: asked.filter(({ end }) => end === 429).length,
});

describe('the requests of one person', () => {
  it('run a few at a time and wait in line, and those of a neighbour run at once; without the limit all would run', async () => {
    const limited = setUp();
    const mia = limited.many(64, 'mia', 's1');
    await nextTurn();
    const neighbour = limited.ask('noa', 's2');
    await nextTurn();
    expect(counts(mia)).toEqual({ running: 4, waiting: 60, refused: 0 });
    expect(neighbour.end).toBe('runs');
    const unlimited = setUp(() => Promise.resolve());
    const all = unlimited.many(64, 'mia', 's1');
    await nextTurn();
    expect(counts(all).running).toBe(64);
  });

  it('are all answered in the end', async () => {
    const { many } = setUp();
    const asked = many(20, 'mia', 's1');
    for (const one of asked) {
      await nextTurn();
      expect(one.end).toBe('runs');
      one.raw.end();
    }
  });

  it('that wait begin in later turns, so that a neighbour need not wait for the whole line', async () => {
    const { ask, many } = setUp();
    const mia = many(20, 'mia', 's1');
    await nextTurn();
    // A request that ends at once, as from SQLite, ends in the turn in which it began.
    const endRunning = (): void => {
      for (const { end, raw } of mia) if (end === 'runs') raw.end();
    };
    endRunning();
    const neighbour = ask('noa', 's2');
    for (let step = 0; step < 100; step += 1) {
      await Promise.resolve();
      endRunning();
    }
    expect(neighbour.end).toBe('runs');
    expect(counts(mia)).toEqual({ running: 4, waiting: 16, refused: 0 });
    await nextTurn();
    expect(counts(mia)).toEqual({ running: 8, waiting: 12, refused: 0 });
  });

  it('share their places over all sessions', async () => {
    const { many } = setUp();
    const asked = ['s1', 's2', 's3'].flatMap((session) => many(4, 'mia', session));
    await nextTurn();
    expect(counts(asked)).toEqual({ running: 8, waiting: 4, refused: 0 });
  });

  it('are refused with 429 and a time when the line is full', async () => {
    const { many } = setUp();
    const asked = many(100, 'mia', undefined);
    await nextTurn();
    expect(counts(asked)).toEqual({ running: 4, waiting: 64, refused: 32 });
    await expect(
      Promise.all(
        ((take) =>
          Array.from({ length: 100 }, () =>
            take(
              callerOf('a', 's'),
              { routeOptions: { url: '/x' } } as FastifyRequest,
              { raw: new Raw() } as unknown as FastifyReply,
            ),
          ))(createPersonLimit()),
      ),
    ).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 });
  });

  it('that were left while they waited give their place to the next', async () => {
    const { many } = setUp();
    const [first, ...rest] = many(6, 'mia', 's1');
    await nextTurn();
    rest[3]?.raw.end();
    first?.raw.end();
    await nextTurn();
    await nextTurn();
    expect(rest[4]?.end).toBe('runs');
  });

  it('do not include streams of events, which the hub bounds', async () => {
    const { many } = setUp();
    const asked = many(100, 'mia', 's1', '/api/v1/events');
    await nextTurn();
    expect(counts(asked).running).toBe(100);
  });

  it('in the playground have places of their own, over all sessions: more are refused at once, and a neighbour chats', async () => {
    const url = '/api/v1/playground/chat';
    const { ask, many } = setUp();
    const chats = ['s1', 's2', 's3'].flatMap((session) => many(4, 'mia', session, url));
    await nextTurn();
    expect(counts(chats)).toEqual({ running: 8, waiting: 0, refused: 4 });
    const others = [ask('noa', 's4', url), ...many(4, 'mia', 's1')];
    await nextTurn();
    expect(counts(others).running).toBe(5);
    chats[0]?.raw.end();
    const next = ask('mia', 's1', url);
    await nextTurn();
    expect(next.end).toBe('runs');
    const unlimited = setUp(() => Promise.resolve());
    const all = unlimited.many(64, 'mia', 's1', url);
    await nextTurn();
    expect(counts(all).running).toBe(64);
  });
});
