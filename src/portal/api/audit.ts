import { z } from 'zod';
import type { KeyFields, WorkspaceFields } from '../../core/account.ts';
import { actorGroups, actorKinds, actorsOf, auditActions } from '../../books/core/administration.ts';
import { givenMoment, moment, numberCursor, pageOf, pageQuery } from './values.ts';

/** `GET /audit`. */
export const auditQuery = pageQuery.extend({
  cursor: numberCursor(15)
    .optional()
    .meta({ description: '`next_cursor` of the page before; without it, the list begins.' }),
  workspace: z.string().optional().meta({ description: 'Only changes of this workspace and its keys, by id or name.' }),
  by: z
    .enum(actorGroups)
    .optional()
    .meta({
      description: `Only changes by people (${actorsOf('people').join(', ')}), or by programs (${actorsOf('automatic').join(', ')}).`,
    }),
  actor: z.string().optional().meta({ description: 'Only changes by this person, token or object: its name.' }),
  action: z.enum(auditActions).optional().meta({ description: 'Only changes of this kind.' }),
  object: z.string().optional().meta({ description: 'Only changes of the workspace or key with this id.' }),
  from: givenMoment.optional().meta({ description: 'Only changes from this moment on.' }),
  to: givenMoment.optional().meta({ description: 'Only changes before this moment.' }),
});

const fields = z.record(z.string(), z.unknown());

/** An entry in the form of `weir audit --json`, with the name of its key. */
const auditEntry = z
  .object({
    id: z.int().meta({ description: 'Rises from entry to entry.' }),
    at: moment,
    actor: z.object({
      kind: z.enum(actorKinds),
      name: z.string().meta({ description: 'Name of the user or of the token.' }),
    }),
    action: z.enum(auditActions).meta({ example: 'key.create' }),
    object: z.string().meta({ description: 'Id of the changed object.' }),
    object_name: z.string().nullable().meta({ description: 'Name of a changed key, where it has one.' }),
    workspace: z.string().nullable().meta({ description: 'Name of its workspace.' }),
    before: fields.nullable().meta({ description: 'The object before; null when the change made it.' }),
    after: fields,
  })
  .meta({ id: 'AuditEntry', description: 'One change of an account.' });
export type AuditEntryObject = z.infer<typeof auditEntry>;

type AccountFieldSpec = WorkspaceFields[keyof WorkspaceFields] | KeyFields[keyof KeyFields];
/** The names of the fields of accounts, and of those that are amounts or moments: pages have a form for each. */
export type AccountFieldName = AccountFieldSpec['name'];
export type MoneyFieldName = Extract<AccountFieldSpec, { readonly kind: 'money' }>['name'];
export type MomentFieldName = Extract<AccountFieldSpec, { readonly kind: 'moment' }>['name'];

export const auditPage = pageOf(auditEntry, { id: 'AuditPage', of: 'changes, newest first' });
