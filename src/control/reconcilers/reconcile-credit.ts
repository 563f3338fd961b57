/** Books a Credit, once. */
import { readObject } from '../catalog/read-object.ts';
import { accepted, instantText, type Statement, statementsOf } from '../catalog/conditions.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';
import type { AccountObject, CreditBooked } from '../../books/core/declared-account.ts';
import { findPayer, type ReconcileParts } from './reconcile-parts.ts';
import { normal, invalid, type Reconciled, type Reconciliation, unchanged, warning } from './account-status.ts';

export async function reconcileCredit(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  if (object.deletedAt !== undefined) return leave(object, parts);
  const result = readObject(object.declared);
  if (result.kind !== 'Credit') return invalid('Credit', result.problems);
  const { spec } = result.read.value;
  const { workspace, usd, note } = spec;
  const payer = await findPayer(object, workspace, parts);
  if ('refused' in payer) return payer.refused;
  await parts.hold(object);
  const { declarer, by } = parts.authorOf(object);
  const wanted = { workspaceId: payer.id, amount: parseUsd(usd) ?? 0n, note };
  try {
    return reported(await parts.accounts.bookCredit(declarer, wanted, by));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return notBooked('Refused', `spec.${error.field === 'note' ? 'note' : 'usd'}: ${error.sentence}`);
  }
}

function reported(booked: CreditBooked): Reconciled {
  const { credit } = booked;
  const usd = formatUsd(credit.amount);
  if (booked.kind === 'booked-as') {
    const message =
      `spec.note: ${usd} USD with this note were booked as ${credit.id} for Credit "${booked.name}". ` +
      'If this is another credit, give it another name and another note';
    return notBooked('BookedAsAnother', message);
  }
  const isSame = booked.kind === 'booked';
  const isAccepted: Statement = isSame
    ? accepted
    : statementsOf('Accepted').isFalse(
        'BookedOtherwise',
        `spec: a Credit of this name was booked before: ${usd} USD for ${booked.workspaceName}, note "${credit.note ?? ''}". That stays. Create a Credit with another name`,
      );
  return {
    statements: [isAccepted, isBooked.isTrue('Booked', `${usd} USD as ${credit.id}`)],
    fields: { id: credit.id, bookedAt: instantText(credit.createdAt) },
    events: isSame && booked.isNew ? [normal('Booked', 'Book', `${usd} USD as ${credit.id}`)] : [],
    next: 'done',
  };
}

const isBooked = statementsOf('Booked');
const notBooked = (reason: string, message: string): Reconciled =>
  unchanged([accepted, isBooked.isFalse(reason, message)]);

/** A deleted Credit changes no money, and says so. */
async function leave(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { namespace, name } = object;
  const credit = await parts.accounts.leaveCredit({ namespace, name });
  await parts.release(object);
  const note =
    credit === undefined
      ? 'it was never booked'
      : `its ${formatUsd(credit.amount)} USD stay booked as ${credit.id}; a Credit below zero takes money back`;
  return {
    next: 'gone',
    events: [credit === undefined ? normal('Deleted', 'Delete', note) : warning('StaysBooked', 'Delete', note)],
  };
}
