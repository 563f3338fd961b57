import { describe, expect, it, vi } from 'vitest';
import { createFormHealth, createMetSchemas, type FormHealth } from './structure-health.ts';

const newForm = (): FormHealth => createFormHealth(() => 0);

/** Judges one answer after another: `.` is sound, `x` defective, `?` missed its schema. */
function judge(form: FormHealth, verdicts: string, now = 0, caller = 'one'): void {
  for (const sign of verdicts) {
    const verdict = sign === '.' ? 'sound' : sign === 'x' ? 'defective' : 'missed';
    form.judged(now, { capability: 'json_schema', verdict, caller });
  }
}

describe('the form of a route’s answers', () => {
  it.each([
    ['', 'in'],
    ['xx', 'in'],
    ['xxx', 'out'],
    ['x.x.x', 'out'],
    ['x..x..x', 'in'],
    ['xx...xx', 'in'],
    ['..x..x..x..x', 'out'],
    ['.......x...x..x', 'in'],
  ])('judged %s, leaves it %s', (verdicts, expected) => {
    const form = newForm();
    judge(form, verdicts);
    expect(form.stand(0, ['json_schema'])).toBe(expected);
  });

  it('is judged for each capability by itself', () => {
    const form = newForm();
    judge(form, 'xxx');
    expect(form.stand(0, ['tools', 'json_object'])).toBe('in');
    expect(form.stand(0, ['tools', 'json_schema'])).toBe('out');
    expect(form.stand(0, [])).toBe('in');
    expect(form.soundness(0, ['tools'])).toBe(1);
    expect(form.soundness(0, ['tools', 'json_schema'])).toBeCloseTo(4 / 7);
  });

  it('is probed by one request after ten seconds, and one sound answer brings it back', () => {
    const form = newForm();
    judge(form, 'xxx');
    expect(form.stand(9999, ['json_schema'])).toBe('out');
    expect(form.stand(10_000, ['json_schema'])).toBe('probe');
    form.probe(10_000, ['json_schema']);
    expect(form.stand(10_000, ['json_schema'])).toBe('out');
    judge(form, '.', 11_000);
    expect(form.stand(11_000, ['json_schema'])).toBe('in');
    judge(form, 'xx.', 11_000);
    expect(form.stand(11_000, ['json_schema'])).toBe('in');
  });

  it('is probed again when a probe had nothing to judge', () => {
    const form = newForm();
    judge(form, 'xxx');
    form.probe(10_000, ['json_schema']);
    expect(form.stand(19_999, ['json_schema'])).toBe('out');
    expect(form.stand(20_000, ['json_schema'])).toBe('probe');
  });

  it('says nothing where one caller alone misses its schemas, however often', () => {
    const form = newForm();
    judge(form, '..', 0, 'other');
    judge(form, '?'.repeat(1000));
    expect([form.stand(0, ['json_schema']), form.soundness(0, ['json_schema'])]).toEqual(['in', 1]);
  });

  it('is at fault where the schemas of two callers are missed', () => {
    const form = newForm();
    judge(form, '???');
    judge(form, '??', 0, 'other');
    expect(form.stand(0, ['json_schema'])).toBe('in');
    judge(form, '?');
    expect(form.stand(0, ['json_schema'])).toBe('out');
  });

  it('is probed again at once when the probe says nothing', () => {
    const form = newForm();
    judge(form, 'xxx', 0, 'other');
    form.probe(1_000_000, ['json_schema']);
    judge(form, '?', 1_000_000);
    expect(form.stand(1_000_000, ['json_schema'])).toBe('probe');
  });

  it('stays out twice as long with each probe that is defective, up to five minutes', () => {
    const form = newForm();
    judge(form, 'xxx');
    let now = 0;
    for (const span of [10, 20, 40, 80, 160, 300, 300]) {
      expect(form.stand(now + span * 1000 - 1, ['json_schema'])).toBe('out');
      now += span * 1000;
      expect(form.stand(now, ['json_schema'])).toBe('probe');
      form.probe(now, ['json_schema']);
      judge(form, 'x', now);
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
