/** Brings a Workspace into the ledger, and lets it go when nothing needs it any more. */
import { accepted, statementsOf } from '../catalog/conditions.ts';
import { readObject } from '../catalog/read-object.ts';
import { valuesOfSpec } from '../catalog/resources/account-spec.ts';
import { maxWorkspaceNameLength } from '../catalog/resources/accounts.ts';
import { type Workspace, workspaceFields } from '../../core/account.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import type { AccountObject } from '../../books/core/declared-account.ts';
import type { ReconcileParts } from './reconcile-parts.ts';
import {
  normal,
  notAccepted,
  invalid,
  type Reconciliation,
  roundedUsd,
  suspended,
  suspensionEvents,
  warning,
} from './account-status.ts';

const eraseName = 'weir.dev/erase-name';

export async function reconcileWorkspace(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { accounts } = parts;
  const { declarer, by } = parts.authorOf(object);
  if (object.deletedAt !== undefined) return leave(object, parts);
  const result = readObject(object.declared);
  if (result.kind !== 'Workspace') return invalid('Workspace', result.problems);
  const { spec } = result.read.value;
  if (object.name.length > maxWorkspaceNameLength) {
    const message = `metadata.name: expected at most ${maxWorkspaceNameLength} characters`;
    return notAccepted('Workspace', { reason: 'Invalid', message });
  }
  await parts.hold(object);
  const wanted = { ledgerName: parts.ledgerName(object), ...valuesOfSpec(workspaceFields, spec) };
  const isActive = wanted.status === 'active';
  try {
    const { workspace, isNew } = await accounts.declareWorkspace(declarer, wanted, by);
    const fields = await fieldsOf(workspace, parts);
    const isSuspended = workspace.status === 'suspended';
    const wasSuspended = parts.said(object, 'Ready')?.reason === 'Suspended';
    const effect = 'requests of its keys get 403';
    return {
      statements: [
        accepted,
        isSuspended ? suspended({ isWanted: !isActive, effect }) : statementsOf('Ready').isTrue('Ready'),
      ],
      fields,
      events: [
        ...(isNew ? [normal('Created', 'Create', `in the ledger as ${workspace.name} (${workspace.id})`)] : []),
        ...suspensionEvents({ isSuspended, isWanted: !isActive, effect, resumed: 'its keys work again' }, wasSuspended),
      ],
      next: 'done',
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { sentence, field, status } = error;
    if (field === 'namespace')
      return notAccepted('Workspace', { reason: 'Refused', message: `metadata.namespace: ${sentence}` });
    const reason = status === 409 ? 'NameTaken' : 'Refused';
    const hint = 'Give the object another name, or erase the name of a Workspace that is gone (weir.dev/erase-name)';
    return notAccepted('Workspace', { reason, message: `metadata.name: ${sentence} ${hint}` });
  }
}

async function fieldsOf(
  { id, name }: Workspace,
  { accounts, clock }: ReconcileParts,
): Promise<Readonly<Record<string, unknown>>> {
  const figures = (await accounts.accountFigures({ workspaceIds: [id], keyIds: [] }, clock.now())).workspaces.get(id);
  return {
    ...{ id, ledgerName: name },
    balance: figures && roundedUsd(figures.balance),
    spentThisMonth: figures && roundedUsd(figures.spentThisMonth),
    keys: figures?.keys,
  };
}

async function leave(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { declarer, by } = parts.authorOf(object);
  const how = { eraseName: object.annotations[eraseName] === 'true' };
  const left = await parts.accounts.leaveWorkspace(declarer, how, by);
  if (left.kind === 'left') {
    await parts.release(object);
    const kept = how.eraseName ? 'its name is free' : 'a Workspace of its name gets it back';
    return { next: 'gone', events: [normal('Deleted', 'Delete', `the ledger keeps its books; ${kept}`)] };
  }
  const keys = left.keys === 1 ? 'a key that is not revoked' : `${left.keys} keys that are not revoked`;
  const message = `cannot be deleted while it has ${keys}: delete its ApiKeys, or use \`weir key revoke\``;
  const said = parts.said(object, 'Ready');
  const { namespace, name } = object;
  const workspace = await parts.accounts.declaredWorkspace({ namespace, name });
  return {
    statements: [accepted, statementsOf('Ready').isFalse('HasKeys', message)],
    fields: workspace === undefined ? {} : await fieldsOf(workspace, parts),
    events: said?.reason === 'HasKeys' ? [] : [warning('DeletionRefused', 'Delete', message)],
    next: 'again',
  };
}
