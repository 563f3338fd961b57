import { describe, expect, it } from 'vitest';
import { applyObservation, hasRoom, isWatched, openWindow, unconfirmed } from './downstream-buffers.ts';

describe('a delivery window', () => {
  it('has room until its limit is on the way, and is watched from the half on', () => {
    const window = openWindow(1_000);
    window.written = 500;
    expect([isWatched(window), hasRoom(window)]).toEqual([false, true]);
    window.written = 999;
    expect([isWatched(window), hasRoom(window)]).toEqual([true, true]);
    window.written = 1_000;
    expect([isWatched(window), hasRoom(window)]).toEqual([true, false]);
  });

  it('confirms with a clear observation only what was written before the sample before', () => {
    const window = openWindow(1_000);
    window.written = 600;
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(600);
    window.written = 900;
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(300);
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(0);
  });

  it('lets nothing through while the reader holds, however long', () => {
    const window = openWindow(1_000);
    window.written = 1_200;
    for (let sample = 0; sample < 100; sample += 1) applyObservation(window, 'held', 50);
    expect(hasRoom(window)).toBe(false);
  });

  it('lets a trickle through when it cannot tell, never more than was written', () => {
    const window = openWindow(1_000);
    window.written = 1_000;
    applyObservation(window, 'unclear', 50);
    expect(unconfirmed(window)).toBe(950);
    for (let sample = 0; sample < 100; sample += 1) applyObservation(window, 'unclear', 50);
    expect(unconfirmed(window)).toBe(0);
  });

  it('does not take back what a trickle let through', () => {
    const window = openWindow(1_000);
    window.written = 100;
    applyObservation(window, 'unclear', 80);
    window.written = 1_000;
    window.marked = 50;
    applyObservation(window, 'clear', 0);
    expect(window.confirmed).toBe(80);
  });
});
