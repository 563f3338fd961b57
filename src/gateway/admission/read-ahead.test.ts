import { describe, expect, it } from 'vitest';
import { createReadAhead } from './read-ahead.ts';

const MiB = 1024 * 1024;

/** Queues a body for each size, and gives the numbers of those that are received. */
function enter(sizes: readonly number[], maxBytes = 4 * MiB) {
  const ahead = createReadAhead(maxBytes);
  const received: number[] = [];
  const turns = sizes.map((bytes, at) => ahead.enter(bytes, () => received.push(at)));
  return { received, tick: (at: number) => turns[at]?.tick(), leave: (at: number) => turns[at]?.leave(), ahead };
}

describe('large bodies', () => {
  it('are received at once while there is room, and would all be at once without a bound', () => {
    const sizes = Array.from({ length: 150 }, () => MiB);
    expect(enter(sizes).received).toEqual([0, 1, 2, 3]);
    expect(enter(sizes, Infinity).received).toHaveLength(150);
  });

  it('are received in order as those before them are read, in whatever order that is', () => {
    const { received, leave } = enter([MiB, MiB, 2 * MiB, 2 * MiB, MiB]);
    leave(1);
    // There is room for the last one, but it is not its turn.
    expect(received).toEqual([0, 1, 2]);
    leave(1);
    expect(received).toEqual([0, 1, 2]);
    leave(0);
    expect(received).toEqual([0, 1, 2, 3]);
    leave(2);
    expect(received).toEqual([0, 1, 2, 3, 4]);
  });

  it('of whose callers some have left are not received', () => {
    const { received, leave } = enter([4 * MiB, 4 * MiB, 2 * MiB, 2 * MiB]);
    leave(2);
    leave(0);
    leave(1);
    expect(received).toEqual([0, 1, 3]);
  });

  it('of the maximum size take the room of 2 MiB, so that they do not stop all others', () => {
    expect(enter([32 * MiB, 32 * MiB, MiB]).received).toEqual([0, 1]);
    expect(enter([32 * MiB, MiB, MiB]).received).toEqual([0, 1, 2]);
  });

  it('that are slow give their room to the next ones, once', () => {
    const { received, tick, leave, ahead } = enter([2 * MiB, 2 * MiB, 2 * MiB, 2 * MiB]);
    tick(0);
    expect(received).toEqual([0, 1]);
    tick(0);
    expect(received).toEqual([0, 1, 2]);
    tick(0);
    leave(0);
    expect(received).toEqual([0, 1, 2]);
    leave(1);
    leave(2);
    leave(3);
    const after: number[] = [];
    for (let at = 0; at < 3; at += 1) ahead.enter(2 * MiB, () => after.push(at));
    expect(after).toEqual([0, 1]);
  });

  it('wait for four seconds at most, whoever is before them', () => {
    const { received, tick } = enter([...Array.from({ length: 100 }, () => 32 * MiB), MiB]);
    for (let second = 1; second <= 3; second += 1) tick(100);
    expect(received).toEqual([0, 1]);
    tick(100);
    tick(100);
    expect(received).toEqual([0, 1, 100]);
  });
});
