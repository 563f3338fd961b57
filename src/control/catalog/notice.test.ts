import { expect, it } from 'vitest';
import type { Announcement, KubeObject } from '../../core/catalog.ts';
import { type Leaving, noticeFor, noticeOf, stayingAt } from './notice.ts';

const day = 24 * 60 * 60 * 1000;
const inDays = ({ leavesAt, ...notice }: { readonly leavesAt: number }) => ({ ...notice, leavesAt: leavesAt / day });

interface Case {
  readonly leaving: Partial<Leaving>;
  readonly recorded?: Announcement;
  readonly now: number;
  readonly leaves: number | undefined;
}

const announced = (at: number, wanted: number): Announcement => ({ announcedAt: at * day, announcedFor: wanted * day });

it.each<readonly [string, Case]>([
  ['a model without a date stays', { leaving: {}, now: 0, leaves: undefined }],
  ['a date that is far enough is kept', { leaving: { retireAt: 60 * day }, now: 0, leaves: 60 }],
  ['a date that is too close waits for the notice', { leaving: { retireAt: 3 * day }, now: 0, leaves: 14 }],
  ['a date in the past waits for the notice', { leaving: { retireAt: -3 * day }, now: 0, leaves: 14 }],
  [
    'the notice runs from when the date was first seen',
    { leaving: { retireAt: 3 * day }, recorded: announced(0, 3), now: 10 * day, leaves: 14 },
  ],
  [
    'a date that moves away is kept, without a new notice',
    { leaving: { retireAt: 20 * day }, recorded: announced(0, 16), now: 13 * day, leaves: 20 },
  ],
  [
    'a date that moves closer is announced anew',
    { leaving: { retireAt: 40 * day }, recorded: announced(0, 60), now: 30 * day, leaves: 44 },
  ],
  [
    'a date that moves closer never makes a model stay longer',
    { leaving: { retireAt: 15 * day }, recorded: announced(0, 20), now: 10 * day, leaves: 20 },
  ],
  ['a deleted model stays for its notice', { leaving: { deletedAt: 5 * day }, now: 6 * day, leaves: 19 }],
  [
    'a deleted model leaves on its date when that is sooner',
    { leaving: { deletedAt: 10 * day, retireAt: 3 * day }, recorded: announced(0, 3), now: 11 * day, leaves: 14 },
  ],
  [
    'a deletion is sooner than a date that is far off',
    { leaving: { deletedAt: 10 * day, retireAt: 90 * day }, recorded: announced(0, 90), now: 11 * day, leaves: 24 },
  ],
  [
    'a deleted model whose notice is waived leaves at once',
    { leaving: { deletedAt: 10 * day, isWaived: true }, now: 11 * day, leaves: 10 },
  ],
  [
    'a date whose notice is waived is kept to the day',
    { leaving: { retireAt: 3 * day, isWaived: true }, recorded: announced(0, 3), now: day, leaves: 3 },
  ],
])('%s', (_, { leaving, recorded, now, leaves }) => {
  expect(noticeOf({ isWaived: false, ...leaving }, recorded, now)?.leavesAt).toBe(
    leaves === undefined ? undefined : leaves * day,
  );
});

it('says the same when it is asked again with what it said', () => {
  const leaving: Leaving = { retireAt: 3 * day, isWaived: false };
  const first = noticeOf(leaving, undefined, 0);
  expect(first).toMatchObject({ announcedAt: 0, announcedFor: 3 * day, cause: 'retireAt' });
  expect(noticeOf(leaving, first, 9 * day)).toEqual(first);
});

it('takes back a waiver: the notice counts from when the date was first seen', () => {
  const first = noticeOf({ retireAt: 3 * day, isWaived: true }, undefined, 0);
  expect(inDays(first!)).toMatchObject({ leavesAt: 3 });
  expect(inDays(noticeOf({ retireAt: 3 * day, isWaived: false }, first, day)!)).toMatchObject({ leavesAt: 14 });
});

const hourMs = 3_600_000;

it.each<[string, readonly (number | undefined)[], object]>([
  ['no model leaves: look again in an hour, clocks are set', [undefined], { items: [undefined], lookAgainMs: hourMs }],
  ['a model that leaves now has left', [1_000, 999, undefined], { items: [undefined], lookAgainMs: hourMs }],
  ['the next to leave says when to look', [1_500, 1_200], { items: [1_500, 1_200], lookAgainMs: 200 }],
  ['in a month is longer than a timer should wait', [1_000 + 30 * 24 * hourMs], { lookAgainMs: hourMs }],
])('%s', (_, items, expected) => {
  expect(stayingAt(items, { now: 1_000, leavesAtOf: (leavesAt) => leavesAt })).toMatchObject(expected);
});

it.each([
  // made, announced, leaves; in days. The Model is to leave on day 3.
  ['an announcement of Weir', 0, 0, 14],
  ['an announcement from before the Model was made', 20, 0, 39],
  ['an announcement from the future', 0, 4_000, 39],
])('believes %s as far as it can be true', (_, made, at, leaves) => {
  const text = (days: number): string => new Date(days * day).toISOString();
  const value = {
    ...{ kind: 'Model', metadata: { name: 'm', creationTimestamp: text(made) } },
    spec: { retireAt: text(3) },
  };
  const object: KubeObject = {
    ...{ kind: 'Model', name: 'm', uid: 'u', generation: 1, resourceVersion: '1', finalizers: [], annotations: {} },
    declared: { where: 'Model/m', value },
    status: { announcedAt: text(at), announcedFor: text(3) },
  };
  expect(noticeFor(object, 25 * day)?.leavesAt).toBe(leaves * day);
});
