import {
  type AccountChange,
  type AccountField,
  type AccountFields,
  type AccountValues,
  type Apart,
  type HeldField,
  heldFields,
  type KeyWith,
  type KindValue,
  type Optional,
  type ValueOfField,
} from '../../core/account-field.ts';
import { keyFields, type TagBudgetRecord, type Workspace, workspaceFields } from '../../core/account.ts';
import { type ServiceAccount, stateOfAccount } from './service-account.ts';
import type { AuditEntry, Budget, CreditRecord, KeyRecord, UsageLine } from './administration.ts';
import type { Declaration } from './declared-account.ts';
import { formatUsd } from '../../core/money.ts';

// The forms of objects that scripts rely on: commands print them with `--json`, the admin API answers with them.

/** The form of the fields of an account. */
export type ShownFields<Fields extends AccountFields> = {
  readonly [Key in Exclude<keyof Fields, KeyWith<Fields, Apart>> as Fields[Key]['name']]:
    | ShownValue<Fields[Key]>
    | (Fields[Key] extends Optional ? (Fields[Key] extends { readonly default: unknown } ? never : null) : never);
};

type ShownValue<Field extends AccountField> = Field extends { readonly kind: 'budget' }
  ? { readonly limit: string; readonly period: (ValueOfField<Field> & KindValue['budget'])['period'] }
  : Field extends { readonly kind: 'money' | 'moment' }
    ? string
    : Field extends { readonly kind: 'models' }
      ? string[]
      : ValueOfField<Field>;

/** The fields of an account. One that is absent is its default, or null. */
export function shownFields<Fields extends AccountFields>(
  fields: Fields,
  values: AccountValues<Fields>,
): ShownFields<Fields>;
export function shownFields<Fields extends AccountFields>(
  fields: Partial<Fields>,
  values: AccountChange<Fields>,
): Partial<ShownFields<Fields>>;
export function shownFields(fields: Partial<AccountFields>, values: object): object {
  return Object.fromEntries(heldFields(fields, values).map((field) => [field.name, shownValue(field) ?? null]));
}

function shownValue({ kind, value }: HeldField): unknown {
  if (value === undefined) return undefined;
  switch (kind) {
    case 'budget':
      return { limit: formatUsd(value.limit), period: value.period };
    case 'money':
      return formatUsd(value);
    case 'moment':
      return isoOf(value);
    case 'models':
      return [...value];
    case 'text':
    case 'name':
    case 'count':
    case 'labels':
      return value;
  }
}

export function shownWorkspace({ id, name, balance, ...workspace }: Workspace) {
  const { status, ...settings } = shownFields(workspaceFields, workspace);
  return { id, name, status, balance: formatUsd(balance), ...settings };
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

export function shownKey(key: KeyRecord) {
  return {
    id: key.id,
    workspace: key.workspaceName,
    workspace_id: key.workspaceId,
    prefix: key.prefix ?? null,
    ...shownFields(keyFields, key),
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
