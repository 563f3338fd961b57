// Numbers, money and moments in the language and the time zone of the reader.
import type { KeyObject } from '../../../src/portal/api/keys.ts';

const money = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' });
const rounded = new Intl.NumberFormat(undefined, {
  ...{ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', roundingMode: 'floor' },
});
const smallMoney = new Intl.NumberFormat(undefined, {
  ...{ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' },
  ...{ minimumSignificantDigits: 2, maximumSignificantDigits: 3 },
});
const preciseMoney = new Intl.NumberFormat(undefined, {
  ...{ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' },
  ...{ minimumFractionDigits: 2, maximumFractionDigits: 12 },
});
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const recent = new Intl.DateTimeFormat(undefined, {
  ...{ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit', second: '2-digit' },
});
/** For example `23 Nov 2026, 17:05 UTC`. */
const utcMoment = new Intl.DateTimeFormat(undefined, {
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
  ...{ hourCycle: 'h23', timeZone: 'UTC', timeZoneName: 'short' },
});
const zoned = new Intl.DateTimeFormat(undefined, {
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  timeZoneName: 'short',
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const month = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const hour = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const counted = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' });

/** The zone of the reader, such as `Europe/Berlin`. */
export const timeZone = moment.resolvedOptions().timeZone;

/** Stands for an unknown value. */
export const unknown = '–';

/** A value in its format, or the sign for an unknown value. */
export function orUnknown<Value>(value: Value | null | undefined, format: (value: Value) => string): string {
  return value === null || value === undefined ? unknown : format(value);
}

/** An amount of the API, whose text formats read exactly. A number is only the value of an axis. */
type Usd = string | number;

// The API's decimals are numeric texts. The compiler knows such texts only as a template type.
const exact = (usd: Usd): number | Intl.StringNumericLiteral =>
  typeof usd === 'number' ? usd : (usd as Intl.StringNumericLiteral);

/** An amount in USD with two decimals; amounts below a cent have more. */
export function formatMoney(usd: Usd): string {
  const size = Math.abs(Number(usd));
  return size !== 0 && size < 0.01 ? smallMoney.format(exact(usd)) : money.format(exact(usd));
}

/** An amount that is left to spend, rounded down to the cent. */
export function formatAvailable(usd: string): string {
  return rounded.format(exact(usd));
}

const periods = {
  ...{ day: 'a day', week: 'a week', month: 'a month', total: 'in all' },
} as const satisfies Readonly<Record<NonNullable<KeyObject['budget']>['period'], string>>;
const periodTexts: ReadonlyMap<string, string> = new Map(Object.entries(periods));

/** The period of a budget, such as `a week`. */
export function formatPeriod(period: string): string {
  return periodTexts.get(period) ?? period;
}

/** An amount with all its decimals. */
export function formatExactMoney(usd: string): string {
  return preciseMoney.format(exact(usd));
}

/** The price of a million tokens, from the price of one token. */
export function formatPricePerMillion(usdPerToken: string): string {
  return formatMoney(Number((Number(usdPerToken) * 1e6).toPrecision(12)));
}

export function formatCount(count: number): string {
  return whole.format(count);
}

/** For example `1.2M`, for axes and figures that are read at a glance. */
export function formatCompact(count: number): string {
  return Math.abs(count) < 10_000 ? whole.format(count) : compact.format(count);
}

export function formatDecimal(value: number): string {
  return oneDecimal.format(value);
}

/** For example `41.5 tokens a second`. */
export function formatSpeed(tokensPerSecond: number): string {
  return `${formatDecimal(tokensPerSecond)} tokens a second`;
}

export function formatShare(value: number): string {
  return share.format(value);
}

/** For example `350 ms`, `2.4 s` or `3 min`. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${whole.format(ms)} ms`;
  if (ms < 120_000) return `${oneDecimal.format(ms / 1_000)} s`;
  return `${whole.format(ms / 60_000)} min`;
}

export function formatMoment(iso: string): string {
  return moment.format(new Date(iso));
}

export function formatPreciseMoment(iso: string): string {
  return precise.format(new Date(iso));
}

/** A moment with seconds and the zone, for places where the exact moment matters. */
export function formatZonedMoment(iso: string): string {
  return zoned.format(new Date(iso));
}

export function formatUtcMoment(iso: string): string {
  return utcMoment.format(new Date(iso));
}

/** A moment without the year, for lists of recent entries. */
export function formatRecent(iso: string): string {
  return recent.format(new Date(iso));
}

export function formatDay(iso: string): string {
  return day.format(new Date(iso));
}

/** Shows a UTC day that has the form of rollups, `2026-07-01`. */
export function formatUtcDay(text: string): string {
  return shortDay.format(new Date(`${text}T00:00:00Z`));
}

/** Shows a UTC month, `2026-11`; any other text as it is. */
export function formatMonth(text: string): string {
  const first = new Date(`${text}-01T00:00:00Z`);
  return Number.isNaN(first.getTime()) ? text : month.format(first);
}

export function formatHour(iso: string): string {
  return hour.format(new Date(iso));
}

const hourMs = 3_600_000;

/** Within two days `in 50 minutes`, `in 30 hours` or `3 hours ago`; otherwise the day. */
export function formatUntil(iso: string, now = Date.now()): string {
  const left = new Date(iso).getTime() - now;
  if (Math.abs(left) >= 48 * hourMs) return formatDay(iso);
  const minutes = Math.trunc(left / 60_000);
  return Math.abs(minutes) < 120
    ? counted.format(minutes, 'minute')
    : counted.format(Math.trunc(left / hourMs), 'hour');
}

const steps = [
  ...([['day', 86_400_000] as const, ['hour', 3_600_000] as const, ['minute', 60_000] as const] as const),
] as const;

/** For example `3 hours ago`. Beyond 30 days, a date. */
export function formatAgo(iso: string, now = Date.now()): string {
  const passed = new Date(iso).getTime() - now;
  if (Math.abs(passed) > 30 * 86_400_000) return formatDay(iso);
  const step = steps.find(([, ms]) => Math.abs(passed) >= ms);
  return step === undefined ? relative.format(0, 'minute') : relative.format(Math.trunc(passed / step[1]), step[0]);
}
