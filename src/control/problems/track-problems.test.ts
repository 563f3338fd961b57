import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleProblem } from '../../../test/support/sample-problem.ts';
import { problemKinds, problemSchema } from '../core/problem.ts';
import { type Finding, type FoundKind, type ListingDelays, listingDelays, ofModels } from './kinds.ts';
import { createProblemTracker } from './track-problems.ts';

const finding = (changes: Partial<Finding> = {}): Finding => ({
  ...{ object: 'Backend/a', kind: 'backend-down', problem: 'It is down.', action: 'Start it.' },
  ...changes,
});
const refused = finding({ kind: 'object-refused', detail: 'spec.engine: expected one' });

function setUp(options: { readonly listingDelays?: Readonly<Record<FoundKind, ListingDelays>> } = {}) {
  const clock = createFakeClock(Date.parse('2026-07-01T12:00:00Z'));
  const tracker = createProblemTracker({ clock, kept: [], ...options });
  const look = (...findings: readonly Finding[]): boolean => tracker.look({ findings, unknown: new Set() });
  const since = (): readonly string[] => tracker.current().map((problem) => problem.since);
  return { clock, tracker, look, since };
}

describe('the list of problems', () => {
  it('has a problem from the first look on, where nothing passes by itself, until the first one without it', () => {
    const { clock, tracker, look, since } = setUp();
    expect(look(refused)).toBe(true);
    expect(tracker.current()).toEqual([problemSchema.parse(tracker.current()[0])]);
    clock.advance(60_000);
    expect([look(refused), since()]).toEqual([false, ['2026-07-01T12:00:00.000Z']]);
    expect([look(), tracker.current()]).toEqual([true, []]);
  });

  it('has what flickers only once it lasts, with the time when it began', () => {
    const { clock, look, since } = setUp();
    look(finding());
    expect(since()).toEqual([]);
    clock.advance(2_000);
    look(finding());
    expect(since()).toEqual([]);
    clock.advance(2_000);
    expect(look(finding())).toBe(true);
    expect(since()).toEqual(['2026-07-01T12:00:00.000Z']);
  });

  it('does not list a moment, however often it comes', () => {
    const { clock, look, since } = setUp();
    for (let times = 0; times < 20; times += 1) {
      look(finding());
      clock.advance(2_000);
      look();
      clock.advance(2_000);
      expect(since()).toEqual([]);
    }
  });

  it('has no problem beside the one that covers it, and none is missing until that one is listed', () => {
    const { clock, tracker, look } = setUp();
    const kinds = (): readonly string[] => tracker.current().map(({ kind }) => kind);
    look(finding({ kind: 'backend-failing' }));
    expect(kinds()).toEqual(['backend-failing']);
    look(finding());
    expect(kinds()).toEqual(['backend-failing']);
    clock.advance(4_000);
    look(finding());
    expect(kinds()).toEqual(['backend-down']);
    // Of another object it covers nothing.
    look(finding(), finding({ object: 'Backend/b', kind: 'backend-failing' }));
    look(finding());
    expect(kinds()).toEqual(['backend-down', 'backend-failing']);
  });

  it.each([...ofModels])('has no %s of a Model beside the problem of its only Backend, once that is listed', (kind) => {
    const { clock, tracker, look } = setUp();
    const listed = (): readonly string[] => tracker.current().map(({ object }) => object);
    const ofModel = finding({ object: 'Model/a', kind, model: 'org/a' });
    const ofBackend = finding({ affected: ['Model/a'] });
    for (let seconds = 0; seconds < 4; seconds += 1) {
      look(ofModel);
      clock.advance(1_000);
    }
    expect(listed()).toEqual(['Model/a']);
    look(ofBackend);
    clock.advance(4_000);
    look(ofBackend);
    expect(listed()).toEqual(['Backend/a']);
    // The Backend is tried again for a moment, and requests to the Model still fail.
    clock.advance(4_000);
    look(ofModel);
    expect(listed()).toEqual(['Backend/a']);
    clock.advance(20_000);
    look(ofModel);
    clock.advance(4_000);
    look(ofModel);
    expect(listed()).toEqual(['Model/a']);
  });

  it.each(['backend-failing', 'usage-estimated'] as const)(
    'has no %s in the moments in which what covers it is not seen',
    (kind) => {
      const { clock, tracker, look } = setUp();
      const kinds = (): readonly string[] => tracker.current().map((problem) => problem.kind);
      look(finding());
      clock.advance(4_000);
      look(finding());
      clock.advance(9_000);
      look(finding({ kind }));
      expect(kinds()).toEqual(['backend-down']);
      clock.advance(2_000);
      look(finding({ kind }));
      expect(kinds()).toEqual([kind]);
    },
  );

  it('keeps the time of a problem while its figures change, and says that they did', () => {
    const { clock, tracker, look, since } = setUp();
    const failing = (share: number): Finding => finding({ kind: 'backend-failing', problem: `${share} % failed.` });
    look(failing(20));
    clock.advance(10_000);
    expect([look(failing(30)), since()]).toEqual([true, ['2026-07-01T12:00:00.000Z']]);
    expect(tracker.current()[0]?.problem).toBe('30 % failed.');
  });

  it('begins anew for another mistake in the same object', () => {
    const { clock, look, since } = setUp();
    look(refused);
    clock.advance(5_000);
    look({ ...refused, detail: 'spec.endpoint: required' });
    expect(since()).toEqual(['2026-07-01T12:00:05.000Z']);
  });

  /** How often the list changes while a rate is over its threshold in every second look. */
  function changes(options: Parameters<typeof setUp>[0]): number {
    const { clock, look } = setUp(options);
    const failing = finding({ kind: 'backend-failing', problem: 'Many failed.' });
    let count = 0;
    for (let times = 0; times < 100; times += 1) {
      count += Number(look(...(times % 2 === 0 ? [failing] : [])));
      clock.advance(2_000);
    }
    return count;
  }

  it('has a flickering error rate once, and would change with every look without the time that it takes to end', () => {
    expect(changes({})).toBe(1);
    expect(changes({ listingDelays: { ...listingDelays, 'backend-failing': { afterMs: 0, clearMs: 0 } } })).toBe(100);
  });

  it('ends a flickering problem once it has been gone for long enough', () => {
    const { clock, look, since } = setUp();
    look(finding({ kind: 'backend-failing' }));
    clock.advance(14_000);
    look();
    expect(since()).toHaveLength(1);
    clock.advance(1_000);
    expect([look(), since()]).toEqual([true, []]);
  });

  it('leaves alone what could not be looked for', () => {
    const { clock, tracker, look, since } = setUp();
    for (let looks = 0; looks < 3; looks += 1) {
      look(finding());
      clock.advance(2_000);
    }
    clock.advance(600_000);
    expect(tracker.look({ findings: [], unknown: new Set(['backend-down']) })).toBe(false);
    expect(since()).toEqual(['2026-07-01T12:00:00.000Z']);
    clock.advance(10_000);
    expect([look(), since()]).toEqual([true, []]);
  });

  it('goes on after a restart with the times of before, and forgets what the new process does not find', () => {
    const clock = createFakeClock(Date.parse('2026-07-01T13:00:00Z'));
    const kept = [
      sampleProblem({ object: 'Backend/a', id: 'backend-down Backend/a' }),
      sampleProblem({ object: 'Backend/b', kind: 'object-refused', id: 'object-refused Backend/b spec.engine: no' }),
    ];
    const tracker = createProblemTracker({ clock, kept });
    expect(tracker.current()).toEqual(kept);
    clock.advance(10_000);
    expect(tracker.look({ findings: [], unknown: new Set() })).toBe(false);
    tracker.look({ findings: [finding()], unknown: new Set() });
    clock.advance(5_000);
    tracker.look({ findings: [finding()], unknown: new Set() });
    expect(tracker.current().map(({ object, since }) => [object, since])).toEqual([
      ['Backend/a', '2026-07-01T12:00:00.000Z'],
    ]);
  });

  it('has the most urgent problems first, and counts those that are too many', () => {
    const { tracker, look } = setUp();
    const many = Array.from({ length: 600 }, (_, index) => finding({ ...refused, detail: `field ${index}` }));
    look(...many, finding({ object: 'disk', kind: 'disk-filling' }));
    const list = tracker.current();
    expect(list).toHaveLength(501);
    expect(list[0]).toMatchObject({ object: 'disk' });
    expect(list.at(-1)).toMatchObject({ problem: '101 more problems are not listed here.' });
  });
});

it('every kind that a service finds has delays, and no other', () => {
  const own = problemKinds.filter((kind) => kind !== 'service-silent' && kind !== 'not-shown');
  expect(Object.keys(listingDelays).toSorted()).toEqual(own.toSorted());
});
