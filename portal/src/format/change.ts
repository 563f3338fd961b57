// Changes of accounts in words, from the fields that the audit trail has.
import type {
  AccountFieldName,
  AuditEntryObject,
  MoneyFieldName,
  MomentFieldName,
} from '../../../src/portal/api/audit.ts';
import { formatCount, formatExactMoney, formatMoment, formatPeriod } from './format.ts';

/** Other fields have their own names, with blanks. */
const labelsOfFields: Readonly<Partial<Record<AccountFieldName, string>>> = {
  max_in_flight: 'requests at once',
  expires_at: 'expiry',
  rate: 'requests a second',
  tokens_per_minute: 'tokens a minute',
};
const labels: Readonly<Record<string, string | undefined>> = labelsOfFields;

const amountsOfFields: Readonly<Record<MoneyFieldName, true>> = { credit_limit: true };
const momentsOfFields: Readonly<Record<MomentFieldName, true>> = { expires_at: true };
const amounts: ReadonlySet<string> = new Set(['balance', 'credit', ...Object.keys(amountsOfFields)]);
const moments: ReadonlySet<string> = new Set(Object.keys(momentsOfFields));

/** The fields that differ, such as `budget $5.00 a week, was none`. A new object has those that are set. */
export function changeTexts({ before, after }: Pick<AuditEntryObject, 'before' | 'after'>): readonly string[] {
  return Object.entries(after).flatMap(([name, value]) => {
    const [was, is] = [textOf(name, before?.[name]), textOf(name, value)];
    if (was === is) return [];
    const label = labels[name] ?? name.replaceAll('_', ' ');
    return [before === null ? `${label} ${is}` : `${label} ${is}, was ${was}`];
  });
}

function textOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number') return formatCount(value);
  if (typeof value === 'string') {
    if (amounts.has(name)) return formatExactMoney(value);
    return moments.has(name) ? formatMoment(value) : value;
  }
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  if (typeof value !== 'object') return JSON.stringify(value);
  if (name === 'budget') return budgetText(value);
  const parts = Object.entries(value).map(([key, part]) => `${key}=${String(part)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function budgetText(budget: object): string {
  const { limit, period } = { limit: '0', period: 'total', ...budget };
  return `${formatExactMoney(limit)} ${formatPeriod(period)}`;
}
