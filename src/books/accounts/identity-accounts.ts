import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import {
  type Identity,
  type IdentityAccount,
  type IdentityLimits,
  maxSubjects,
  otherSubjects,
} from '../../core/identity.ts';
import { cutText, toOneLine } from '../../core/one-line.ts';
import { keyFields } from '../../core/account.ts';
import type { Authorship } from '../core/administration.ts';
import { columnsOf } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { identityOf, lockIdentity } from './identities.ts';
import { findKey, recordKey } from './keys.ts';
import { newId } from './workspaces.ts';

/** By which the account of an identity is found, in place of the hash of a key. No text of a key begins with a bracket. */
export const identityAccountHash = ({ identityId, workspace, subject }: IdentityAccount): string =>
  hash('sha256', JSON.stringify(['identity', identityId, workspace, subject ?? null]), 'hex');

/**
 * Makes the account of an identity, or of a subject, at its first use, and returns its hash. Subjects beyond `maxSubjects` share the
 * account `other`. Undefined: the identity is gone, or there is no such workspace.
 */
export async function openIdentityAccount(
  queries: Kysely<Schema>,
  wanted: IdentityAccount,
  by: Authorship,
): Promise<string | undefined> {
  return queries.transaction().execute(async (transaction) => {
    await lockIdentity(transaction, wanted.identityId);
    const found = await transaction
      .selectFrom('identities')
      .selectAll()
      .where('id', '=', wanted.identityId)
      .where('status', '<>', 'revoked')
      .executeTakeFirst();
    const workspace = await transaction
      .selectFrom('workspaces')
      .select('id')
      .where('name', '=', wanted.workspace)
      .executeTakeFirst();
    if (found === undefined || workspace === undefined) return undefined;
    const { size } = await transaction
      .selectFrom('keys')
      .select(({ fn }) => fn.countAll<number | bigint>().as('size'))
      .where('identity_id', '=', found.id)
      .executeTakeFirstOrThrow();
    const isFull = size >= maxSubjects && (await idOf(identityAccountHash(wanted))) === undefined;
    const account = isFull && wanted.subject !== undefined ? { ...wanted, subject: otherSubjects } : wanted;
    const accountHash = identityAccountHash(account);
    if ((await idOf(accountHash)) !== undefined) return accountHash;
    const identity = identityOf(found);
    const row = {
      ...{ id: newId('key'), hash: accountHash, prefix: null, workspace_id: workspace.id },
      ...{ identity_id: identity.id, subject: shownSubject(account) ?? null, playground_of: null, maker: null },
      created_at: BigInt(by.now),
      ...columnsOf(keyFields, { ...limitsOf(identity), name: nameOf(identity, account) }),
    };
    await transaction.insertInto('keys').values(row).execute();
    const after = await findKey(transaction, row.id);
    await recordKey(transaction, { action: 'key.create', before: undefined, after }, by);
    return accountHash;

    async function idOf(searched: string): Promise<string | undefined> {
      const row = await transaction.selectFrom('keys').select('id').where('hash', '=', searched).executeTakeFirst();
      return row?.id;
    }
  });
}

const limitsOf = (identity: Identity): IdentityLimits => {
  const { status, budget, rate, burst, models, tokensPerMinute, notEnforced } = identity;
  return { status, budget, rate, burst, models, tokensPerMinute, notEnforced };
};

const maxSubjectLength = 256;

/** The subject without line breaks and controls, which the issuer does not always check. The hash has it as it is. */
const shownSubject = ({ subject }: IdentityAccount): string | undefined =>
  subject === undefined ? undefined : toOneLine(subject, maxSubjectLength);

/** The name that reports show. */
function nameOf({ name }: Identity, account: IdentityAccount): string {
  const { maxLength } = keyFields.name;
  const subject = shownSubject(account);
  const text = subject === undefined ? name : `${name}: ${subject}`;
  return text.length <= maxLength ? text : cutText(text, maxLength - 1);
}
