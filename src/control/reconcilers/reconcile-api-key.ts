/** Brings an ApiKey into the ledger and its text into its Secret, replaces it in time, and revokes it with its object. */
import { accepted, instantText, type Statement, statementsOf } from '../catalog/conditions.ts';
import { readObject } from '../catalog/read-object.ts';
import { valuesOfSpec } from '../catalog/resources/account-spec.ts';
import { type ApiKeySpec, limitsOfSpec } from '../catalog/resources/accounts.ts';
import { keyFields } from '../../core/account.ts';
import type { ObjectEvent } from '../../core/catalog.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import type { AccountObject, DeclaredKey, KeyDeclared, KeyFigures } from '../../books/core/declared-account.ts';
import { formatUsd, parseUsd } from '../../core/money.ts';
import { type KeySecret, SecretRefused } from '../core/key-secrets.ts';
import { findPayer, type ReconcileParts } from './reconcile-parts.ts';
import {
  normal,
  notAccepted,
  invalid,
  overridden,
  type Reconciled,
  type Reconciliation,
  suspended,
  suspensionEvents,
  unchanged,
  warning,
} from './account-status.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;

export async function reconcileApiKey(object: AccountObject, parts: ReconcileParts): Promise<Reconciliation> {
  const { accounts } = parts;
  const { declarer, by } = parts.authorOf(object);
  if (object.deletedAt !== undefined) {
    const revoked = await accounts.leaveKeys(declarer, by);
    await parts.release(object);
    return {
      next: 'gone',
      events: [normal('Revoked', 'Delete', `${revoked === 1 ? 'its key is' : `${revoked} keys are`} revoked`)],
    };
  }
  const result = readObject(object.declared);
  if (result.kind !== 'ApiKey') return invalid('ApiKey', result.problems);
  const { spec } = result.read.value;
  const payer = await findPayer(object, spec.workspace, parts);
  if ('refused' in payer) return payer.refused;
  await parts.hold(object);
  try {
    return await withSecret(object, { ...parts, spec, workspaceId: payer.id });
  } catch (error) {
    if (error instanceof SecretRefused) {
      return notReady('SecretNotWritten', `Secret "${spec.secretRef.name}" cannot be written: ${error.message}`);
    }
    if (!(error instanceof Refusal)) throw error;
    return notAccepted('ApiKey', { reason: 'Refused', message: `spec: ${error.sentence}` });
  }
}

interface KeyParts extends ReconcileParts {
  readonly spec: ApiKeySpec;
  readonly workspaceId: string;
}

/** A Secret may change while it is read: then it is read again. */
const maxReads = 3;

async function withSecret(object: AccountObject, parts: KeyParts): Promise<Reconciled> {
  const { spec, secrets, keyTexts } = parts;
  const place = `in entry "key" of Secret "${spec.secretRef.name}"`;
  for (let reads = 0; reads < maxReads; reads += 1) {
    const secret = await secrets.read(object, spec.secretRef.name);
    if (secret === undefined || (secret.isOurs && secret.text === undefined)) {
      const text = await writeNewKey(object, secret, parts);
      if (text === undefined) continue;
      const declared = await declareText(object, { isOurs: true, text }, parts);
      if (declared !== 'changed') return declared;
      continue;
    }
    if (secret.text === undefined) {
      return notReady('SecretNotUsable', `expected the text of a key ${place}`);
    }
    if (!keyTexts.isWellFormed(secret.text)) {
      return notReady('KeyMalformed', `expected a well-formed key (sk-weir-…) ${place}`);
    }
    const declared = await declareText(object, { ...secret, text: secret.text }, parts);
    if (declared !== 'changed') return declared;
  }
  throw new Error(`Secret "${spec.secretRef.name}" changes again and again`);
}

/**
 * Puts a new key into the Secret. The ledger has it first, so that the Secret never has a key that does not work. Returns
 * the text; undefined: the Secret has changed meanwhile, and the new key is of no use.
 */
async function writeNewKey(
  object: AccountObject,
  secret: Pick<KeySecret, 'resourceVersion'> | undefined,
  parts: KeyParts,
): Promise<string | undefined> {
  const { accounts, secrets, keyTexts, spec } = parts;
  const { declarer, by } = parts.authorOf(object);
  const { name } = spec.secretRef;
  const text = keyTexts.make();
  await accounts.prepareKey(declarer, wantedOf(object, text, parts), by);
  // Another leader may have begun meanwhile, and may have revoked the key that is prepared here.
  if (!parts.isLeading()) throw new Error('this replica does not lead any more');
  const isWritten =
    secret === undefined
      ? await secrets.create(object, name, text)
      : await secrets.replace(object, { name, resourceVersion: secret.resourceVersion }, text);
  return isWritten ? text : undefined;
}

/** `changed`: the Secret has changed since it was read. */
async function declareText(
  object: AccountObject,
  secret: Pick<KeySecret, 'isOurs'> & { readonly text: string; readonly resourceVersion?: string },
  parts: KeyParts,
): Promise<Reconciled | 'changed'> {
  const { accounts, secrets, spec } = parts;
  const { rotation } = spec;
  const { declarer, by } = parts.authorOf(object);
  const overlapMs = rotation === undefined ? 0 : rotation.overlapHours * hourMs;
  const declare = (text: string): Promise<KeyDeclared> =>
    accounts.declareKey(declarer, { ...wantedOf(object, text, parts), overlapMs }, by);
  let { text } = secret;
  let declared = await declare(text);
  const rotatesAt = (since: number) => (rotation === undefined ? undefined : since + rotation.everyDays * dayMs);
  // The time at which the new key will count as made. With a later one, a rotation would be due again at once.
  const isDue = declared.kind === 'declared' && (rotatesAt(declared.since) ?? Infinity) <= by.now;
  const events: ObjectEvent[] = [];
  const { resourceVersion } = secret;
  if (secret.isOurs && resourceVersion !== undefined && (isDue || declared.kind === 'ended')) {
    const wasEnded = declared.kind === 'ended';
    const fresh = await writeNewKey(object, { resourceVersion }, parts);
    if (fresh === undefined) return 'changed';
    text = fresh;
    declared = await declare(text);
    events.push(
      wasEnded
        ? warning('KeyReplaced', 'Replace', 'the key in the Secret was revoked or replaced before; it has a new one')
        : normal(
            'Rotated',
            'Rotate',
            `the Secret has a new key; the one before works for ${rotation?.overlapHours ?? 0} hours`,
          ),
    );
  }
  const { name } = spec.secretRef;
  switch (declared.kind) {
    case 'ended':
      return notReady(
        'KeyRevoked',
        `the key in Secret "${name}" was revoked or replaced, and that is final. Put another key there`,
      );
    case 'taken':
      // An ApiKey that leaves may have had it, and the Secret may have gone with it.
      if ((await secrets.read(object, name))?.resourceVersion !== resourceVersion) return 'changed';
      return {
        ...notReady('KeyTaken', `the key in Secret "${name}" belongs to another workspace or ApiKey`),
        next: 'again',
      };
    case 'declared': {
      const { keys } = await accounts.accountFigures({ workspaceIds: [], keyIds: [declared.id] }, by.now);
      const isMade = declared.isNew && events.length === 0;
      const note = `key ${declared.id}${secret.isOurs ? '' : `, taken from Secret "${name}"`}`;
      if (isMade) events.push(normal(declared.hasReplaced ? 'KeyChanged' : 'Created', 'Create', note));
      const since = secret.isOurs ? rotatesAt(declared.since) : undefined;
      return ready(
        object,
        { declared, figures: keys.get(declared.id), rotatesAt: since, events },
        { ...parts, isOurs: secret.isOurs },
      );
    }
  }
}

function wantedOf(object: AccountObject, text: string, { spec, workspaceId, keyTexts }: KeyParts): DeclaredKey {
  return {
    ...{ hash: keyTexts.hash(text), prefix: keyTexts.prefix(text), workspaceId },
    name: object.name.slice(0, 100),
    ...valuesOfSpec(keyFields, spec),
    ...limitsOfSpec(spec),
    thresholds: spec.budget?.thresholds,
  };
}

const isReady = statementsOf('Ready');

function notReady(reason: string, message: string): Reconciled {
  return unchanged([accepted, isReady.isFalse(reason, `spec.secretRef: ${message}`)]);
}

interface ReadyKey {
  readonly declared: Extract<KeyDeclared, { readonly kind: 'declared' }>;
  readonly figures: KeyFigures | undefined;
  readonly rotatesAt: number | undefined;
  readonly events: readonly ObjectEvent[];
}

function ready(
  object: AccountObject,
  { declared, figures, rotatesAt, events }: ReadyKey,
  { spec, clock, said, isOurs }: KeyParts & { readonly isOurs: boolean },
): Reconciled {
  const now = clock.now();
  const hasExpired = spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= now;
  const { isSuspended, isOverridden } = declared;
  const isManaged = object.annotations['weir.dev/managed'] !== 'false';
  const isWanted = spec.status === 'Suspended';
  const wasSuspended = said(object, 'Ready')?.reason === 'Suspended';
  const effect = 'requests with the key get 403';
  const isFixed = !isOurs && spec.rotation !== undefined;
  const state = hasExpired
    ? isReady.isFalse('Expired', 'spec.expiresAt: requests with the key get 401')
    : isOverridden && isManaged
      ? overridden(isSuspended ? effect : 'the key works')
      : isSuspended
        ? suspended({ isWanted, effect })
        : isReady.isTrue('Ready', isFixed ? 'spec.rotation: the Secret is not Weir’s, so Weir does not change it' : '');
  const last = figures?.lastUsedAt;
  const { previous } = declared;
  return {
    statements: [accepted, state, budgetStatement(spec, figures)],
    fields: {
      id: declared.id,
      prefix: declared.prefix,
      lastUsedAt: last === undefined ? null : instantText(Math.floor(last / minuteMs) * minuteMs),
      rotatesAt: rotatesAt === undefined ? null : instantText(rotatesAt),
      previous:
        previous === undefined ? null : { prefix: previous.prefix ?? '', expiresAt: instantText(previous.expiresAt) },
    },
    events: [
      ...events,
      ...suspensionEvents({ isSuspended, isWanted, effect, resumed: 'the key works again' }, wasSuspended),
    ],
    next: 'done',
  };
}

function budgetStatement({ budget }: ApiKeySpec, figures: KeyFigures | undefined): Statement {
  const { isTrue, isFalse } = statementsOf('WithinBudget');
  if (budget === undefined) return isTrue('NoBudget');
  const limit = parseUsd(budget.usd) ?? 0n;
  if ((figures?.spent ?? 0n) < limit) return isTrue('WithinBudget');
  return isFalse('BudgetSpent', `spec.budget: ${formatUsd(limit)} USD are spent in this period; requests get 402`);
}
