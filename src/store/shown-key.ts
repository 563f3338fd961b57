import { formatUsd } from '../core/money.ts';
import type { KeyRecord } from './keys.ts';

// Apart from `keys.ts`, so that the command line does not load the query layer before a command needs it.

/** The settings of a key as operators are shown them, in the audit trail and by commands. */
export function shownKey({ name, status, budget, rate, burst, expiresAt, models }: KeyRecord) {
  return {
    name: name ?? null,
    status,
    budget: budget ? { limit: formatUsd(budget.limit), period: budget.period } : null,
    rate,
    burst,
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    models: models ?? null,
  };
}
