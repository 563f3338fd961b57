// Numbers, money and moments in the language and the time zone of the reader.
import type { KeyObject } from '../../../src/portal/api/keys.ts';

/** Makes a format of moments of the API. */
function momentFormat(options: Intl.DateTimeFormatOptions): (iso: string) => string {
  const format = new Intl.DateTimeFormat(undefined, options);
  return (iso) => format.format(new Date(iso));
}

/** Makes a format of numbers, which reads the decimals of the API exactly. */
function numberFormat<Value extends Usd = number>(options: Intl.NumberFormatOptions): (value: Value) => string {
  const format = new Intl.NumberFormat(undefined, options);
  // The compiler knows numeric texts only as a template type.
  return (value) => format.format(value as number | Intl.StringNumericLiteral);
}

/** An amount of the API, whose text formats read exactly. A number is only the value of an axis. */
type Usd = string | number;

const usd = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;
const money = numberFormat<Usd>(usd);
const smallMoney = numberFormat<Usd>({ ...usd, minimumSignificantDigits: 2, maximumSignificantDigits: 3 });
const compact = numberFormat({ notation: 'compact', maximumFractionDigits: 1 });
const shortDay = momentFormat({ day: 'numeric', month: 'short', timeZone: 'UTC' });
const month = momentFormat({ month: 'long', year: 'numeric', timeZone: 'UTC' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const counted = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' });

/** The zone of the reader, such as `Europe/Berlin`. */
export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Stands for an unknown value. */
export const unknown = '–';

/** A value in its format, or the sign for an unknown value. */
export function orUnknown<Value>(value: Value | null | undefined, format: (value: Value) => string): string {
  return value === null || value === undefined ? unknown : format(value);
}

/** An amount in USD with two decimals; amounts below a cent have more. */
export function formatMoney(amount: Usd): string {
  const size = Math.abs(Number(amount));
  return size !== 0 && size < 0.01 ? smallMoney(amount) : money(amount);
}

/** An amount that is left to spend, rounded down to the cent. */
export const formatAvailable = numberFormat<string>({ ...usd, roundingMode: 'floor' });

/** An amount with all its decimals. */
export const formatExactMoney = numberFormat<string>({ ...usd, minimumFractionDigits: 2, maximumFractionDigits: 12 });

const periods = {
  ...{ day: 'a day', week: 'a week', month: 'a month', total: 'in all' },
} as const satisfies Readonly<Record<NonNullable<KeyObject['budget']>['period'], string>>;
const periodTexts: ReadonlyMap<string, string> = new Map(Object.entries(periods));

/** The period of a budget, such as `a week`. */
export function formatPeriod(period: string): string {
  return periodTexts.get(period) ?? period;
}

/** The price of a million tokens, from the price of one token. */
export function formatPricePerMillion(usdPerToken: string): string {
  return formatMoney(Number((Number(usdPerToken) * 1e6).toPrecision(12)));
}

export const formatCount = numberFormat({ maximumFractionDigits: 0 });
export const formatDecimal = numberFormat({ maximumFractionDigits: 1 });
export const formatShare = numberFormat({ style: 'percent', maximumFractionDigits: 1 });

/** For example `1.2M`, for axes and figures that are read at a glance. */
export function formatCompact(count: number): string {
  return Math.abs(count) < 10_000 ? formatCount(count) : compact(count);
}

/** For example `41.5 tokens a second`. */
export function formatSpeed(tokensPerSecond: number): string {
  return `${formatDecimal(tokensPerSecond)} tokens a second`;
}

/** For example `350 ms`, `2.4 s` or `3 min`. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${formatCount(ms)} ms`;
  if (ms < 120_000) return `${formatDecimal(ms / 1_000)} s`;
  return `${formatCount(ms / 60_000)} min`;
}

export const formatMoment = momentFormat({ dateStyle: 'medium', timeStyle: 'short' });
export const formatPreciseMoment = momentFormat({ dateStyle: 'medium', timeStyle: 'medium' });
export const formatDay = momentFormat({ dateStyle: 'medium' });
export const formatHour = momentFormat({ hour: 'numeric', minute: '2-digit' });

/** A moment with seconds and the zone, for places where the exact moment matters. */
export const formatZonedMoment = momentFormat({
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  timeZoneName: 'short',
});

/** For example `23 Nov 2026, 17:05 UTC`. */
export const formatUtcMoment = momentFormat({
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
  ...{ hourCycle: 'h23', timeZone: 'UTC', timeZoneName: 'short' },
});

/** A moment without the year, for lists of recent entries. */
export const formatRecent = momentFormat({
  ...{ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit', second: '2-digit' },
});

/** Shows a UTC day that has the form of rollups, `2026-07-01`. */
export function formatUtcDay(text: string): string {
  return shortDay(`${text}T00:00:00Z`);
}

/** Shows a UTC month, `2026-11`; any other text as it is. */
export function formatMonth(text: string): string {
  const first = `${text}-01T00:00:00Z`;
  return Number.isNaN(Date.parse(first)) ? text : month(first);
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

const steps = [['day', 24 * hourMs] as const, ['hour', hourMs] as const, ['minute', 60_000] as const];

/** For example `3 hours ago`. Beyond 30 days, a date. */
export function formatAgo(iso: string, now = Date.now()): string {
  const passed = new Date(iso).getTime() - now;
  if (Math.abs(passed) > 30 * 24 * hourMs) return formatDay(iso);
  const step = steps.find(([, ms]) => Math.abs(passed) >= ms);
  return step === undefined ? relative.format(0, 'minute') : relative.format(Math.trunc(passed / step[1]), step[0]);
}
