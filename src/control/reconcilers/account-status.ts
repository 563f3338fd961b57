/** The status of the objects that declare accounts: how a reconciliation is reported. */
import { isDeepStrictEqual } from 'node:util';
import { conditionsOf, readStatus, type Statement, statementsOf } from '../catalog/conditions.ts';
import { apiKeyStatus, creditStatus, identityStatus, workspaceStatus } from '../catalog/resources/account-status.ts';
import type { Condition } from '../catalog/resources/status.ts';
import type { CatalogProblem, ObjectEvent } from '../../core/catalog.ts';
import type { AccountKind, AccountObject } from '../../books/core/declared-account.ts';
import { isObject } from '../../core/json.ts';
import type { Money } from '../../core/money.ts';

/** The result of one reconciliation of an object. */
export interface Reconciled {
  readonly statements: readonly Statement[];
  /** The fields beside the conditions. Those that are null or absent are removed: nothing in a status is believed. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Events of this reconciliation. The next one does not repeat them. */
  readonly events: readonly ObjectEvent[];
  /** `again`: it waits for something that is expected soon. */
  readonly next: 'done' | 'again';
}

/** `gone`: the object has lost its finalizer, so it has no status any more. */
export type Reconciliation = Reconciled | { readonly next: 'gone'; readonly events: readonly ObjectEvent[] };

/** A reconciliation that changed nothing. */
export const unchanged = (statements: readonly Statement[], next: Reconciled['next'] = 'done'): Reconciled => ({
  ...{ statements, fields: {}, events: [], next },
});

/** The object could not be accepted: nothing of it is in the ledger, or what was there stays. */
export function notAccepted(
  kind: AccountKind,
  { reason, message, next }: { readonly reason: string; readonly message: string; readonly next?: 'again' | 'done' },
): Reconciled {
  const last = statementsOf(kind === 'Credit' ? 'Booked' : 'Ready');
  return unchanged([statementsOf('Accepted').isFalse(reason, message), last.isFalse('NotAccepted')], next);
}

/** The object breaks the rules of its kind, which the API server checks, too. */
export function invalid(kind: AccountKind, problems: readonly CatalogProblem[]): Reconciled {
  const message = problems.map(({ field, message: what }) => `${field}: ${what}`).join('; ');
  return notAccepted(kind, { reason: 'Invalid', message });
}

export const normal = (reason: string, action: string, note: string): ObjectEvent => ({
  ...{ severity: 'Normal', reason, action, note },
});
export const warning = (reason: string, action: string, note: string): ObjectEvent => ({
  ...{ severity: 'Warning', reason, action, note },
});

/**
 * The condition `Ready` of a suspended account. It is False if the object wants it active, but does not manage it. `effect`:
 * on requests.
 */
export function suspended({ isWanted, effect }: { readonly isWanted: boolean; readonly effect: string }): Statement {
  const { isTrue, isFalse } = statementsOf('Ready');
  if (isWanted) return isTrue('Suspended', effect);
  const why = 'suspended in the ledger, and an object with weir.dev/managed: "false" does not change that';
  return isFalse('Suspended', `spec.status: ${why}; ${effect}`);
}

/** The condition `Ready` of a key whose status people have set against its object. */
export function overridden(effect: string): Statement {
  const until = 'overridden by hand (`weir audit` names the person) until this object is changed';
  return statementsOf('Ready').isFalse('Overridden', `spec.status: ${until}; ${effect}`);
}

/** The events when a suspension begins or ends. The beginning of one that is not wanted is an event of its condition. */
export function suspensionEvents(
  now: { readonly isSuspended: boolean; readonly isWanted: boolean; readonly effect: string; readonly resumed: string },
  wasSuspended: boolean,
): readonly ObjectEvent[] {
  const { isSuspended, isWanted, effect, resumed } = now;
  if (isSuspended === wasSuspended) return [];
  if (!isSuspended) return [normal('Resumed', 'Resume', resumed)];
  return isWanted ? [normal('Suspended', 'Suspend', effect)] : [];
}

const emptied = (schema: { readonly shape: object }): Readonly<Record<string, null>> =>
  Object.fromEntries(Object.keys(schema.shape).map((name) => [name, null]));

/** The status of each kind with nothing in it. Whatever else a stranger has written there goes. */
const noFields: Readonly<Record<AccountKind, Readonly<Record<string, null>>>> = {
  Workspace: emptied(workspaceStatus),
  ApiKey: emptied(apiKeyStatus),
  Credit: emptied(creditStatus),
  Identity: emptied(identityStatus),
};

/** The status to write, and the events of conditions that have changed. Undefined: the object has this status. */
export function statusToWrite(
  object: AccountObject,
  { statements, fields }: Reconciled,
  now: number,
): { readonly status: Readonly<Record<string, unknown>>; readonly events: readonly ObjectEvent[] } | undefined {
  const { kind, generation } = object;
  const before = readStatus(object.status).conditions;
  const conditions = conditionsOf(statements, before, { generation, now });
  const status: Readonly<Record<string, unknown>> = {
    ...noFields[kind],
    ...{ observedGeneration: generation, conditions },
    ...fields,
  };
  const written = isObject(object.status) ? object.status : {};
  const isWritten = Object.entries(status).every(([name, value]) =>
    isDeepStrictEqual(written[name] ?? null, value ?? null),
  );
  return isWritten ? undefined : { status, events: conditions.flatMap((condition) => eventOf(condition, before)) };
}

/** A condition that is False for a new reason is news, and so is one that is True again. */
function eventOf(condition: Condition, before: readonly Condition[]): readonly ObjectEvent[] {
  const { type, status, reason, message } = condition;
  const last = before.find((one) => one.type === type);
  // The condition before this one has the reason.
  if (reason === 'NotAccepted') return [];
  if (status === 'False' && (last?.status !== 'False' || last.message !== message)) {
    return [warning(reason, 'Reconcile', message)];
  }
  // A booking has an event of its own.
  const isNews = status === 'True' && last?.status === 'False' && type !== 'Booked';
  return isNews ? [normal(type, 'Reconcile', `${type} is True now`)] : [];
}

const centPicoUsd = 10_000_000_000n;

/** USD with two decimals, rounded down, for people. */
export function roundedUsd(amount: Money): string {
  const cents = amount / centPicoUsd - (amount < 0n && amount % centPicoUsd !== 0n ? 1n : 0n);
  const digits = (cents < 0n ? -cents : cents).toString().padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
