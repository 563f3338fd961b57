import { type Credential, keyFields } from '../../core/account.ts';
import { formatUsd } from '../../core/money.ts';
import { periodEnd } from './budget-period.ts';
import { isoOf } from './field-kinds.ts';
import { shownFields } from './shown.ts';

/** The answer to a key that asks about itself (docs/reference/endpoints.md §4.4), with the names and forms of the admin API. */
export function shownCredential({ key, workspace, spent }: Credential, now: number) {
  const { budget } = key;
  const { budget: limits, ...fields } = shownFields(keyFields, key);
  const money = budget && {
    ...{ ...limits, spent: formatUsd(spent), remaining: formatUsd(budget.limit - spent) },
    resets_at: budget.period === 'total' ? null : isoOf(periodEnd(budget.period, now)),
  };
  return {
    ...{ object: 'key', id: key.id, workspace: workspace.name, ...fields },
    ...{ budget: money ?? null, balance: formatUsd(workspace.balance) },
  };
}
