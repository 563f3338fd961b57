import { z } from 'zod';
import { accountStatuses, keyFields, keyStatuses } from '../../core/account.ts';
import { actorKinds } from '../../books/core/administration.ts';
import { changeShape, newShape, shownShape } from './account-shapes.ts';
import { budgetThresholds } from './alerts.ts';
import { servicesAsked } from './catalog.ts';
import { declaredBy, keyId, moment, pageOf, pageQuery, usd, workspaceId } from './values.ts';

const keyName = z
  .string()
  .max(keyFields.name.maxLength)
  .meta({ description: keyFields.name.about, example: keyFields.name.example });
const { name, status, budget, ...settings } = shownShape(keyFields);

/** A key in the form of `weir key … --json`, with further fields. */
export const key = z
  .object({
    id: keyId,
    workspace: z.string().meta({ description: 'Name of the workspace that pays.', example: 'acme' }),
    workspace_id: workspaceId,
    name,
    prefix: z
      .string()
      .nullable()
      .meta({ description: 'First characters of its text; null for keys of older versions.', example: 'sk-weir-3vKq' }),
    identity: z
      .object({
        id: z.string(),
        name: z.string(),
        subject: z.string().nullable().meta({ description: 'Null: all subjects of the identity share the account.' }),
      })
      .optional()
      .meta({ description: 'The identity whose account it is. Absent: it is a key with a text.' }),
    status,
    budget,
    spent: usd.meta({ description: 'Spent in the current period of the budget; without a budget, in all.' }),
    budget_ends_at: moment.nullable().meta({
      description: 'When the current period of its budget ends; null: never, or there is no budget.',
    }),
    thresholds: budgetThresholds,
    ...settings,
    created_at: moment,
    last_used_at: moment.nullable().meta({ description: 'Start of its last settled request.' }),
    made_by: z
      .object({ kind: z.enum(actorKinds), name: z.string() })
      .nullable()
      .meta({ description: 'Who made it; null: the audit trail does not say.' }),
    declared_by: declaredBy,
    may_change: z.boolean().meta({ description: 'Whether the caller may change, rotate and revoke it.' }),
  })
  .meta({ id: 'Key', description: 'A credential of a workspace, without its text, which is not stored.' });
export type KeyObject = z.infer<typeof key>;

/** `GET /workspaces/{id}/keys`. */
export const keysQuery = pageQuery.extend({
  search: z
    .string()
    .max(100)
    .optional()
    .meta({ description: 'Only keys whose name, id or first characters contain this text.', example: 'ci' }),
  spent: z
    .enum(['true'])
    .optional()
    .meta({ description: 'Only active keys whose budget is spent, as many as a page has, without a search.' }),
});

export const keyPage = pageOf(key, { id: 'KeyPage', of: 'keys, newest first' });

/** `POST /workspaces/{id}/keys`. */
export const newKey = z
  .strictObject({ ...newShape(keyFields), name: keyName.optional() })
  .meta({ id: 'NewKey', description: 'A new key.' });
export type NewKeyObject = z.input<typeof newKey>;

/** The answer to `POST /workspaces/{id}/keys`. No other answer has the text of a key. */
export const createdKey = key
  .extend({
    key: z.string().meta({ description: 'The key’s text. Weir shows it only once.', example: 'sk-weir-…' }),
  })
  .meta({ id: 'CreatedKey', description: 'A new key, with its text.' });
export type CreatedKeyObject = z.infer<typeof createdKey>;

/** Longest overlap of a rotation: 30 days. */
const maxOverlapHours = 720;

/** `POST /keys/{id}/rotate`. */
export const keyRotation = z
  .strictObject({
    overlap_hours: z.int().min(1).max(maxOverlapHours).default(24).meta({
      description: 'Hours until the earlier key expires, unless it expires sooner.',
    }),
  })
  .meta({ id: 'KeyRotation', description: 'A key that replaces another one.' });
export type KeyRotationObject = z.input<typeof keyRotation>;

/** The answer to `POST /keys/{id}/rotate`. */
export const rotatedKey = createdKey
  .extend({ earlier: key.meta({ description: 'The earlier key, with its expiry.' }) })
  .meta({ id: 'RotatedKey', description: 'A new key with the settings of another one, with its text.' });
export type RotatedKeyObject = z.infer<typeof rotatedKey>;

/** `PATCH /keys/{id}`: absent fields stay as they are, null removes a value. */
export const keyChange = z
  .strictObject({ ...changeShape(keyFields), status: z.enum(accountStatuses).optional() })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one field to change')
  .meta({ id: 'KeyChange', description: 'The fields of a key to change.' });
export type KeyChangeObject = z.input<typeof keyChange>;

/** `POST /keys/{id}/override`. */
export const keyOverride = z.strictObject({ status: z.enum(keyStatuses) }).meta({ id: 'KeyOverride' });

export const overriddenKey = z
  .object({
    id: z.string(),
    status: z.enum(keyStatuses),
    stored: z.boolean().meta({ description: 'False: the database is down. It is written when the database is back.' }),
    services: servicesAsked.meta({ description: 'The services that hold the status until then.' }),
  })
  .meta({ id: 'OverriddenKey' });
