/** Brings an Identity into the ledger, and revokes it with its object. */
import { accepted, type Statement, statementsOf } from '../catalog/conditions.ts';
import { readObject } from '../catalog/read-object.ts';
import { valuesOfSpec } from '../catalog/resources/account-spec.ts';
import { type IdentitySpec, limitsOfSpec, maxWorkspaceNameLength } from '../catalog/resources/accounts.ts';
import { type Identity, identityLimits, type IdentityRules, identityShares } from '../../core/identity.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import type { AccountObject } from '../../books/core/declared-account.ts';
import {
  invalid,
  normal,
  notAccepted,
  type Reconciled,
  type Reconciliation,
  suspended,
  suspensionEvents,
} from './account-status.ts';
import { findPayer, type ReconcileParts } from './reconcile-parts.ts';

const { status, models, tokensPerMinute, notEnforced } = identityLimits;
const limitFields = { status, models, tokensPerMinute, notEnforced } as const;

export async function reconcileIdentity(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { accounts } = parts;
  const { declarer, by } = parts.authorOf(object);
  if (object.deletedAt !== undefined) {
    await accounts.leaveIdentity(declarer, by);
    await parts.release(object);
    const note = declarer.isManaging ? 'requests with its tokens get 401' : 'the ledger keeps it as it is';
    return { next: 'gone', events: [normal(declarer.isManaging ? 'Revoked' : 'Deleted', 'Delete', note)] };
  }
  const result = readObject(object.declared);
  if (result.kind !== 'Identity') return invalid('Identity', result.problems);
  const { spec } = result.read.value;
  if (object.name.length > maxWorkspaceNameLength) {
    const message = `metadata.name: expected at most ${maxWorkspaceNameLength} characters`;
    return notAccepted('Identity', { reason: 'Invalid', message });
  }
  if (spec.workspace !== undefined) {
    const payer = await findPayer(object, spec.workspace, parts);
    if ('refused' in payer) return payer.refused;
  }
  await parts.hold(object);
  const name = parts.ledgerName(object);
  const wanted = { name, ...rulesOf(spec, object, parts), ...valuesOfSpec(limitFields, spec), ...limitsOfSpec(spec) };
  try {
    const { identity, isNew } = await accounts.declareIdentity(declarer, wanted, by);
    return declared(identity, {
      fault: identity.status === 'active' ? await parts.checkIdentity(identity) : undefined,
      isNew,
      isWanted: spec.status === 'Suspended',
      said: parts.said(object, 'Ready')?.reason,
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused(error);
  }
}

type Fault = Awaited<ReturnType<ReconcileParts['checkIdentity']>>;

const effect = 'requests with its tokens get 403';

function declared(
  { id, name, status: inLedger }: Identity,
  {
    fault,
    isNew,
    isWanted,
    said,
  }: {
    readonly fault: Fault;
    readonly isNew: boolean;
    readonly isWanted: boolean;
    readonly said: string | undefined;
  },
): Reconciled {
  const isSuspended = inLedger === 'suspended';
  const resumed = 'its tokens are accepted again';
  const state = { isSuspended, isWanted, effect, resumed };
  return {
    statements: [accepted, readyOf(inLedger, isWanted, fault)],
    fields: { id, ledgerName: name },
    events: [
      ...(isNew ? [normal('Created', 'Create', `in the ledger as ${name} (${id})`)] : []),
      ...suspensionEvents(state, said === 'Suspended'),
    ],
    // An issuer, a setting or a right may be corrected, which changes no object.
    next: fault === undefined ? 'done' : 'again',
  };
}

function readyOf(inLedger: Identity['status'], isWanted: boolean, fault: Fault): Statement {
  const { isTrue, isFalse } = statementsOf('Ready');
  if (inLedger === 'suspended') return suspended({ isWanted, effect });
  if (inLedger === 'active') return fault === undefined ? isTrue('Ready') : isFalse(fault.reason, fault.message);
  const remedy = 'delete this object and create it again, with weir.dev/managed: "true" to own the identity';
  return isFalse('Revoked', `it was revoked by hand, which is final: ${remedy}`);
}

/** Fields of the admin API by their names in an object. */
const specNames = new Map([['workspace_claim', 'workspaceClaim']]);

function refused({ code, field = '', sentence, parts }: Refusal): Reconciled {
  if (code === 'identity_malformed') {
    const message = `spec.${specNames.get(field) ?? field}: ${String(parts['reason'])}`;
    return notAccepted('Identity', { reason: 'Invalid', message });
  }
  const reason = code === 'identity_exists' ? 'NameTaken' : 'Refused';
  return notAccepted('Identity', { reason, message: `metadata.name: ${sentence}` });
}

function rulesOf(spec: IdentitySpec, object: AccountObject, { ledgerName }: ReconcileParts): IdentityRules {
  const { issuer, audience, match, tags, bound, workspace, workspaceClaim = '' } = spec;
  const inNamespace = (name: string): string => ledgerName({ ...object, name });
  const each = identityShares.find((share) => share === spec.each.toLowerCase()) ?? 'identity';
  const payer =
    workspace === undefined ? { claim: workspaceClaim, prefix: inNamespace('') } : { name: inNamespace(workspace) };
  return { issuer, audience, match, tags, each, isBound: bound, workspace: payer };
}
