import type { UsageLineObject } from '../../../src/portal/api/usage.ts';

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export type Period = 'hour' | 'day' | 'week';

const rollingRanges = ['24h', '7d', '30d', '90d'] as const;
type RollingRange = (typeof rollingRanges)[number];
/** The choices of time. Today is the reader's; other days, weeks and months are those of UTC, like in the rollups. */
export const ranges = ['today', ...rollingRanges, 'month', 'last-month', 'custom'] as const;
export type Range = (typeof ranges)[number];

const days: Readonly<Record<Exclude<RollingRange, '24h'>, number>> = { '7d': 7, '30d': 30, '90d': 90 };

/** The beginning of a range that ends now, at a full hour or day. */
export function beginningOf(range: RollingRange, now: number): string {
  const [count, length] = range === '24h' ? [24, hourMs] : [days[range], dayMs];
  return new Date((Math.floor(now / length) - count + 1) * length).toISOString();
}

/** The hour in which the reader's day began. */
function beginningOfToday(now: number): number {
  return Math.floor(new Date(now).setHours(0, 0, 0, 0) / hourMs) * hourMs;
}

/** A time of whole UTC hours. Without `to` it lasts until now. */
export interface Span {
  readonly from: string;
  readonly to?: string | undefined;
}

/** A chosen time, what it is compared with, and the length of the periods of its charts. */
export interface ChosenTime extends Span {
  readonly before: Span;
  /** What `before` is, in words. */
  readonly beforeName: string;
  /** `2026-11`: the time is this month, as far as it has passed. */
  readonly month?: string;
  readonly period: Period;
}

/** From this many days on, a chart shows weeks. */
const manyDays = 120;

/** The first moment of a month of UTC. `away`: months after the one of the moment. */
function monthAt(moment: number, away: number): number {
  const date = new Date(moment);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + away);
}

const iso = (moment: number): string => new Date(moment).toISOString();
const span = (from: number, to: number): Span => ({ from: iso(from), to: iso(to) });

/**
 * The time of a choice. It is compared with the time just before, of the same length; a month with the month before. A
 * time that has not ended is compared with as much of the one before as has passed of it.
 *
 * `days`: the first and the last day of a custom time, `2026-07-01`.
 */
export function timeOf(
  range: Range,
  now: number,
  { first, last }: { readonly first?: string | undefined; readonly last?: string | undefined } = {},
): ChosenTime {
  const nextHour = Math.floor(now / hourMs) * hourMs + hourMs;
  switch (range) {
    case 'today': {
      const start = beginningOfToday(now);
      const before = span(start - dayMs, nextHour - dayMs);
      return { from: iso(start), before, beforeName: 'the same hours of the day before', period: 'hour' };
    }
    case '24h':
    case '7d':
    case '30d':
    case '90d': {
      const from = beginningOf(range, now);
      const start = Date.parse(from);
      const period = range === '24h' ? 'hour' : 'day';
      return { from, before: span(start - (nextHour - start), start), beforeName: 'the same time before', period };
    }
    case 'month': {
      const [start, previous] = [monthAt(now, 0), monthAt(now, -1)];
      const before = span(previous, Math.min(previous + (nextHour - start), start));
      const time = { from: iso(start), before, beforeName: 'the same days of the month before' };
      return { ...time, period: 'day', month: monthOf(start) };
    }
    case 'last-month':
      return wholeMonth(monthAt(now, -1));
    case 'custom': {
      const today = Math.floor(now / dayMs) * dayMs;
      const start = dayOf(first) ?? today - 6 * dayMs;
      const end = Math.max(start, dayOf(last) ?? today) + dayMs;
      if (start === monthAt(start, 0) && end === monthAt(start, 1)) return wholeMonth(start);
      const before = span(start - (Math.min(end, nextHour) - start), start);
      const period = (end - start) / dayMs > manyDays ? 'week' : 'day';
      return { ...span(start, end), before, beforeName: 'the same time before', period };
    }
  }
}

/** A whole month, from its first moment on. */
function wholeMonth(start: number): ChosenTime {
  const before = span(monthAt(start, -1), start);
  const time = { ...span(start, monthAt(start, 1)), before, beforeName: 'the month before' };
  return { ...time, period: 'day', month: monthOf(start) };
}

const monthOf = (start: number): string => iso(start).slice(0, 7);

/** The first moment of a UTC day. Undefined: the text is no day. */
function dayOf(text: string | undefined): number | undefined {
  const moment = Date.parse(`${text ?? ''}T00:00:00Z`);
  return Number.isNaN(moment) ? undefined : moment;
}

/** The beginnings of the hours, days or weeks of a time. The last one may not have ended. */
export function periodsOf({ from, to }: Span, period: Period, now: number): readonly string[] {
  const [first, last] = [Date.parse(from), Math.min(now, to === undefined ? now : Date.parse(to) - 1)];
  const length = { hour: hourMs, day: dayMs, week: 7 * dayMs }[period];
  const start = period === 'week' ? mondayOf(first) : Math.floor(first / length) * length;
  const count = Math.max(0, Math.floor((last - start) / length) + 1);
  return Array.from({ length: count }, (_, index) => iso(start + index * length));
}

/** The Monday of the week of a moment. Day 0 of the Unix epoch is a Thursday. */
function mondayOf(moment: number): number {
  const day = Math.floor(moment / dayMs);
  return (Math.floor((day + 3) / 7) * 7 - 3) * dayMs;
}

/** The beginning of a line's hour, day or week, in the form of `periodsOf`. */
export function periodOf({ hour, day, week }: UsageLineObject): string {
  return iso(Date.parse(hour ?? `${day ?? week ?? ''}T00:00:00Z`));
}
