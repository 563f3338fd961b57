import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { formatMoney, formatPeriod } from '../format/format.ts';
import { Bar } from '../parts/badge.tsx';

// A file of its own, so that the Overview does not load the table of keys with its menus.

/** The spent part of a key's budget. */
export function BudgetBar({ of }: { readonly of: Pick<KeyObject, 'budget' | 'spent'> }) {
  if (of.budget === null) return <span className="muted nowrap">{formatMoney(of.spent)}, no budget</span>;
  const limit = Number(of.budget.limit);
  return (
    <Bar
      share={limit === 0 ? 1 : Number(of.spent) / limit}
      label={`${formatMoney(of.spent)} of ${formatMoney(of.budget.limit)} ${formatPeriod(of.budget.period)}`}
    />
  );
}
