import {
  type AccountChange,
  type AccountField,
  type AccountFields,
  type AccountValues,
  type Apart,
  heldFields,
  type KeyWith,
  type KindValue,
  type Optional,
  type ValueOfField,
} from '../../core/account-field.ts';
import { keyFields, type TagBudgetRecord, type Workspace, workspaceFields } from '../../core/account.ts';
import { type Identity, identityLimits } from '../../core/identity.ts';
import { type ServiceAccount, serviceAccountFields, stateOfAccount } from './service-account.ts';
import { type AuditEntry, creditFields, type CreditRecord, type KeyRecord, type UsageLine } from './administration.ts';
import type { Declaration } from './declared-account.ts';
import { isoOf, shownBudget, shownValue } from './field-kinds.ts';
import { type LocalUser, localUserFields } from './local-user.ts';
import { memberFields, type MemberRecord } from './membership.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import type { VectorReferenceHead } from '../../core/vector-reference.ts';

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

export function shownWorkspace({ id, name, balance, ...workspace }: Workspace) {
  const { status, ...settings } = shownFields(workspaceFields, workspace);
  return { id, name, status, balance: formatUsd(balance), ...settings };
}

/** The object that declares a workspace, a key or an identity. */
export function shownDeclaration(declared: Declaration | undefined) {
  if (declared === undefined || declared.kind === 'Credit') return null;
  const { kind, namespace, name, isLocked } = declared;
  return { kind, namespace, name, locked: isLocked };
}

export function shownUser({ hasPassword, ...user }: LocalUser) {
  return { ...shownFields(localUserFields, user), has_password: hasPassword };
}

export function shownCredit(credit: CreditRecord) {
  return shownFields(creditFields, credit);
}

export function shownTagBudget({ tag, budget, spent, thresholds }: TagBudgetRecord) {
  return { tag, budget: shownBudget(budget), spent: formatUsd(spent), thresholds: [...thresholds] };
}

/** `spent`: by key, in the current period of its budget; of a key without a budget, in all. Missing: nothing. */
export function shownKey(key: KeyRecord, spent: ReadonlyMap<string, Money>) {
  return {
    id: key.id,
    workspace: key.workspaceName,
    workspace_id: key.workspaceId,
    prefix: key.prefix ?? null,
    ...(key.identity !== undefined && { identity: { ...key.identity, subject: key.identity.subject ?? null } }),
    ...shownFields(keyFields, key),
    spent: formatUsd(spent.get(key.id) ?? 0n),
    created_at: isoOf(key.createdAt),
    last_used_at: isoOrNull(key.lastUsedAt),
  };
}

/** An identity as the commands and the admin API show it. */
export function shownIdentity({
  id,
  name,
  issuer,
  audience,
  match,
  workspace,
  each,
  tags,
  isBound,
  ...limits
}: Identity) {
  const { status, ...shown } = shownFields(identityLimits, limits);
  return {
    ...{ id, name, status, issuer, audience, match: [...match] },
    workspace: 'name' in workspace ? workspace.name : null,
    workspace_claim: 'claim' in workspace ? workspace.claim : null,
    ...{ each, tags, bound: isBound, ...shown },
  };
}

/** A service account as the commands and the admin API show it. */
export function shownServiceAccount(account: ServiceAccount, now: number) {
  const { id, name, prefix, ...moments } = shownFields(serviceAccountFields, account);
  const { scopes, workspaces = null } = account;
  const status = stateOfAccount(account, now);
  return { id, name, prefix, status, scopes: [...scopes], workspaces: workspaces && [...workspaces], ...moments };
}

export function shownMember({ invitedBy, since, ...member }: MemberRecord) {
  const { last_sign_in_at, ...fields } = shownFields(memberFields, member);
  return { ...fields, invited_by: invitedBy ? { ...invitedBy } : null, since: isoOf(since), last_sign_in_at };
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
  return { workspace, key, model, surface, tag, week, day, hour, ...shownSums(line) };
}

/** The sums of a line of a report. */
export function shownSums(line: UsageLine) {
  return {
    requests: line.requests,
    prompt_tokens: line.promptTokens,
    completion_tokens: line.completionTokens,
    cached_tokens: line.cachedTokens,
    reasoning_tokens: line.reasoningTokens,
    web_searches: line.webSearches,
    cost: formatUsd(line.cost),
  };
}

function isoOrNull(moment: number | undefined): string | null {
  return moment === undefined ? null : isoOf(moment);
}

export function shownVectorReference(reference: VectorReferenceHead) {
  const { modelId, routeId, upstreamModel, dimensions, since, isAwaited } = reference;
  return {
    ...{ model: modelId, route: routeId },
    upstream_model: isAwaited ? null : upstreamModel,
    dimensions: isAwaited ? null : dimensions,
    ...{ since: isoOf(since), awaited: isAwaited },
  };
}
