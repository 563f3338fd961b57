import type { TagBudgetRecord, Workspace } from '../../core/account.ts';
import { type ServiceAccount, stateOfAccount } from './service-account.ts';
import type { AuditEntry, Budget, CreditRecord, KeyRecord, UsageLine } from './administration.ts';
import type { Declaration } from './declared-account.ts';
import { formatUsd } from '../../core/money.ts';

// The forms of objects that scripts rely on: commands print them with `--json`, the admin API answers with them.

export function shownWorkspace({ id, name, status, balance, maxInFlight, creditLimit = 0n }: Workspace) {
  const credit_limit = formatUsd(creditLimit);
  return { id, name, status, balance: formatUsd(balance), max_in_flight: maxInFlight, credit_limit };
}

/** The object that declares a workspace or a key. */
export function shownDeclaration(declared: Declaration | undefined) {
  if (declared === undefined || declared.kind === 'Credit') return null;
  const { kind, namespace, name, isLocked } = declared;
  return { kind, namespace, name, locked: isLocked };
}

export function shownCredit({ id, amount, note, createdAt }: CreditRecord) {
  return { id, amount: formatUsd(amount), note: note ?? null, created_at: isoOf(createdAt) };
}

export function shownBudget({ limit, period }: Budget) {
  return { limit: formatUsd(limit), period };
}

export function shownTagBudget({ tag, budget, spent, thresholds }: TagBudgetRecord) {
  return { tag, budget: shownBudget(budget), spent: formatUsd(spent), thresholds: [...thresholds] };
}

/** The settings of a key, in the form that the audit trail also has. */
export function shownKeySettings({
  name,
  status,
  budget,
  rate,
  burst,
  expiresAt,
  models,
}: Omit<KeyRecord, 'workspaceName'>) {
  return {
    name: name ?? null,
    status,
    budget: budget ? shownBudget(budget) : null,
    rate,
    burst,
    expires_at: isoOrNull(expiresAt),
    models: models === undefined ? null : [...models],
  };
}

export function shownKey(key: KeyRecord) {
  return {
    id: key.id,
    workspace: key.workspaceName,
    workspace_id: key.workspaceId,
    prefix: key.prefix ?? null,
    ...shownKeySettings(key),
    created_at: isoOf(key.createdAt),
    last_used_at: isoOrNull(key.lastUsedAt),
  };
}

/** A service account as the commands and the admin API show it. */
export function shownServiceAccount(account: ServiceAccount, now: number) {
  const { id, name, prefix, scopes, workspaces, createdAt, expiresAt, lastUsedAt } = account;
  return {
    ...{ id, name, prefix, status: stateOfAccount(account, now) },
    ...{ scopes: [...scopes], workspaces: workspaces === undefined ? null : [...workspaces] },
    created_at: isoOf(createdAt),
    expires_at: isoOf(expiresAt),
    last_used_at: isoOrNull(lastUsedAt),
  };
}

export function shownAuditEntry({ id, at, actor, action, objectId, workspaceName, before, after }: AuditEntry) {
  return {
    id,
    at: isoOf(at),
    actor,
    action,
    object: objectId,
    workspace: workspaceName ?? null,
    before: before ?? null,
    after,
  };
}

/** Dimensions that were not requested are undefined, so that JSON leaves them out. */
export function shownUsage(line: UsageLine) {
  const { workspace, key, model, surface, tag, week, day, hour } = line;
  return {
    ...{ workspace, key, model, surface, tag, week, day, hour },
    requests: line.requests,
    prompt_tokens: line.promptTokens,
    completion_tokens: line.completionTokens,
    cached_tokens: line.cachedTokens,
    reasoning_tokens: line.reasoningTokens,
    web_searches: line.webSearches,
    cost: formatUsd(line.cost),
  };
}

function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}

function isoOrNull(moment: number | undefined): string | null {
  return moment === undefined ? null : isoOf(moment);
}
