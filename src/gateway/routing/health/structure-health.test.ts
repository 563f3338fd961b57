import { describe, expect, it, vi } from 'vitest';
import { createStructureHealth, createMetSchemas, type StructureHealth } from './structure-health.ts';

const newHealth = (): StructureHealth => createStructureHealth(() => 0);

/** Judges one answer after another: `.` is sound, `x` defective, `?` missed its schema. */
function record(health: StructureHealth, results: string, now = 0, caller = 'one'): void {
  for (const sign of results) {
    const result = sign === '.' ? 'valid' : sign === 'x' ? 'invalid' : 'missed';
    health.record(now, { capability: 'json_schema', result, caller });
  }
}

describe('the form of a route’s answers', () => {
  it.each([
    ['', 'closed'],
    ['xx', 'closed'],
    ['xxx', 'open'],
    ['x.x.x', 'open'],
    ['x..x..x', 'closed'],
    ['xx...xx', 'closed'],
    ['..x..x..x..x', 'open'],
    ['.......x...x..x', 'closed'],
  ])('recorded as %s, leaves it %s', (results, expected) => {
    const health = newHealth();
    record(health, results);
    expect(health.state(0, ['json_schema'])).toBe(expected);
  });

  it('is recorded for each capability by itself', () => {
    const health = newHealth();
    record(health, 'xxx');
    expect(health.state(0, ['tools', 'json_object'])).toBe('closed');
    expect(health.state(0, ['tools', 'json_schema'])).toBe('open');
    expect(health.state(0, [])).toBe('closed');
    expect(health.validity(0, ['tools'])).toBe(1);
    expect(health.validity(0, ['tools', 'json_schema'])).toBeCloseTo(4 / 7);
  });

  it('is probed by one request after ten seconds, and one sound answer brings it back', () => {
    const health = newHealth();
    record(health, 'xxx');
    expect(health.state(9999, ['json_schema'])).toBe('open');
    expect(health.state(10_000, ['json_schema'])).toBe('probe');
    health.probe(10_000, ['json_schema']);
    expect(health.state(10_000, ['json_schema'])).toBe('open');
    record(health, '.', 11_000);
    expect(health.state(11_000, ['json_schema'])).toBe('closed');
    record(health, 'xx.', 11_000);
    expect(health.state(11_000, ['json_schema'])).toBe('closed');
  });

  it('is probed again when a probe had nothing to validate', () => {
    const health = newHealth();
    record(health, 'xxx');
    health.probe(10_000, ['json_schema']);
    expect(health.state(19_999, ['json_schema'])).toBe('open');
    expect(health.state(20_000, ['json_schema'])).toBe('probe');
  });

  it('says nothing where one caller alone misses its schemas, however often', () => {
    const health = newHealth();
    record(health, '..', 0, 'other');
    record(health, '?'.repeat(1000));
    expect([health.state(0, ['json_schema']), health.validity(0, ['json_schema'])]).toEqual(['closed', 1]);
  });

  it('is at fault where the schemas of two callers are missed', () => {
    const health = newHealth();
    record(health, '???');
    record(health, '??', 0, 'other');
    expect(health.state(0, ['json_schema'])).toBe('closed');
    record(health, '?');
    expect(health.state(0, ['json_schema'])).toBe('open');
  });

  it('is probed again at once when the probe says nothing', () => {
    const health = newHealth();
    record(health, 'xxx', 0, 'other');
    health.probe(1_000_000, ['json_schema']);
    record(health, '?', 1_000_000);
    expect(health.state(1_000_000, ['json_schema'])).toBe('probe');
  });

  it('stays out twice as long with each probe that is defective, up to five minutes', () => {
    const health = newHealth();
    record(health, 'xxx');
    let now = 0;
    for (const span of [10, 20, 40, 80, 160, 300, 300]) {
      expect(health.state(now + span * 1000 - 1, ['json_schema'])).toBe('open');
      now += span * 1000;
      expect(health.state(now, ['json_schema'])).toBe('probe');
      health.probe(now, ['json_schema']);
      record(health, 'x', now);
    }
  });
});

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

  it('blames no route while no route meets it, and says nothing of another schema', () => {
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
