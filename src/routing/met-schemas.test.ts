import { describe, expect, it, vi } from 'vitest';
import { createMetSchemas } from './met-schemas.ts';

function begin() {
  const schemas = createMetSchemas();
  return {
    missed: (route: string, { schema = 1, now = 0 } = {}) => schemas.missed(now, { route, asked: () => schema }),
    met: (route: string, { schema = 1, now = 0 } = {}) => schemas.met(now, { route, asked: () => schema }),
  };
}

describe('a schema that a route missed', () => {
  it('is the route’s fault when another route has met it since, and the route has not', () => {
    const { missed, met } = begin();
    expect(missed('a')).toBe(false);
    met('b');
    expect([missed('a'), missed('b'), missed('c')]).toEqual([true, false, true]);
    met('a');
    expect(missed('a')).toBe(false);
  });

  it('is nobody’s fault while no route meets it, and says nothing of another schema', () => {
    const { missed, met } = begin();
    for (const route of ['a', 'b', 'c', 'a', 'b', 'c']) expect(missed(route)).toBe(false);
    met('b');
    expect(missed('a', { schema: 2 })).toBe(false);
  });

  it('needs no digest of what is asked while nothing was missed', () => {
    const asked = vi.fn<() => number>(() => 1);
    createMetSchemas().met(0, { route: 'a', asked });
    expect(asked).not.toHaveBeenCalled();
  });

  it('is forgotten after ten minutes, and after a thousand others', () => {
    const { missed, met } = begin();
    missed('a');
    met('b');
    expect(missed('a', { now: 600_000 })).toBe(false);
    met('b', { now: 600_000 });
    for (let schema = 2; schema <= 1001; schema += 1) missed('a', { schema, now: 600_000 });
    expect(missed('a', { now: 600_000 })).toBe(false);
  });
});
