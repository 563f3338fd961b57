/** Brings an Identity into the ledger, and revokes it with its object. */
import { accepted, statementsOf } from '../catalog/conditions.ts';
import { readObject } from '../catalog/read-object.ts';
import { valuesOfSpec } from '../catalog/resources/account-spec.ts';
import { type IdentitySpec, limitsOfSpec } from '../catalog/resources/accounts.ts';
import { identityLimits, type IdentityRules, identityShares } from '../../core/identity.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import type { AccountObject } from '../../books/core/declared-account.ts';
import { invalid, normal, notAccepted, type Reconciliation, suspended } from './account-status.ts';
import { findPayer, type ReconcileParts } from './reconcile-parts.ts';

const { status, models } = identityLimits;
const limitFields = { status, models } as const;

export async function reconcileIdentity(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { accounts } = parts;
  const { declarer, by } = parts.authorOf(object);
  if (object.deletedAt !== undefined) {
    await accounts.leaveIdentity(declarer, by);
    await parts.release(object);
    return { next: 'gone', events: [normal('Revoked', 'Delete', 'its tokens let nobody in any more')] };
  }
  const result = readObject(object.declared);
  if (result.kind !== 'Identity') return invalid('Identity', result.problems);
  const { spec } = result.read.value;
  if (spec.workspace !== undefined) {
    const payer = await findPayer(object, spec.workspace, parts);
    if ('refused' in payer) return payer.refused;
  }
  await parts.hold(object);
  try {
    const name = parts.ledgerName(object);
    const wanted = { name, ...rulesOf(spec, object, parts), ...valuesOfSpec(limitFields, spec), ...limitsOfSpec(spec) };
    const { identity, isNew } = await accounts.declareIdentity(declarer, wanted, by);
    const ready = statementsOf('Ready');
    return {
      statements: [
        accepted,
        identity.status === 'suspended'
          ? suspended({ isWanted: spec.status === 'Suspended', effect: 'its tokens let nobody in' })
          : ready.isTrue('Ready', 'its tokens let callers in'),
      ],
      fields: { id: identity.id, ledgerName: name },
      events: isNew ? [normal('Created', 'Create', `identity ${identity.id}`)] : [],
      next: 'done',
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return notAccepted('Identity', { reason: 'Refused', message: `spec.${error.sentence}` });
  }
}

function rulesOf(spec: IdentitySpec, object: AccountObject, { ledgerName }: ReconcileParts): IdentityRules {
  const { issuer, audience, match, tags, bound, workspace, workspaceClaim } = spec;
  const inNamespace = (name: string): string => ledgerName({ ...object, name });
  const each = identityShares.find((share) => share === spec.each.toLowerCase()) ?? 'identity';
  return {
    ...{ issuer, audience, match, tags, each, isBound: bound },
    workspace:
      workspace === undefined
        ? { claim: workspaceClaim ?? '', prefix: inNamespace('') }
        : { name: inNamespace(workspace) },
  };
}
