import { z } from 'zod';
import { accountStatuses, budgetPeriods, keyStatuses } from '../../core/account.ts';
import { defaultLimits } from '../../core/limits.ts';
import { readModelPatterns } from '../../core/model-patterns.ts';
import { actorKinds } from '../../books/core/administration.ts';
import { budgetThresholds, givenThresholds } from './alerts.ts';
import {
  declaredBy,
  givenMoment,
  givenUsd,
  keyId,
  moment,
  pageOf,
  pageQuery,
  positiveCount,
  usd,
  workspaceId,
} from './values.ts';

const period = z.enum(budgetPeriods).meta({
  description: 'When the budget starts again, in UTC: each day, each Monday, each first of the month, or never.',
});
export const keyBudget = z.object({ limit: usd, period });
export const givenBudget = z.strictObject({ limit: givenUsd, period });
const keyName = z.string().max(100).meta({ description: 'Purpose, one line.', example: 'CI of the web team' });
const rate = positiveCount.meta({ description: 'Sustained requests per second.', example: 100 });
const burst = positiveCount.meta({ description: 'Requests at once above the rate.', example: 200 });

/** Patterns in the canonical form of `core/model-patterns.ts`. */
const patterns = z
  .array(z.string().max(128))
  .min(1)
  .max(100)
  .transform((names, context) => {
    const read = readModelPatterns(names.join(','));
    if ('patterns' in read) return read.patterns;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  })
  .meta({ description: 'Models such as `org/model`, or `org/*` for all of an organisation.', example: ['qwen/*'] });

/** A key in the form of `weir key … --json`, with further fields. */
export const key = z
  .object({
    id: keyId,
    workspace: z.string().meta({ description: 'Name of the workspace that pays.', example: 'acme' }),
    workspace_id: workspaceId,
    name: keyName.nullable(),
    prefix: z
      .string()
      .nullable()
      .meta({ description: 'First characters of its text; null for keys of older versions.', example: 'sk-weir-3vKq' }),
    status: z.enum(keyStatuses),
    budget: keyBudget.nullable().meta({ description: 'Spending limit of a period.' }),
    spent: usd.meta({ description: 'Spent in the current period of the budget; without a budget, in all.' }),
    thresholds: budgetThresholds,
    rate,
    burst,
    expires_at: moment.nullable(),
    models: z.array(z.string()).nullable().meta({ description: 'Models that it may call; null: every model.' }),
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
});

export const keyPage = pageOf(key, { id: 'KeyPage', of: 'keys, newest first' });

/** `POST /workspaces/{id}/keys`. */
export const newKey = z
  .strictObject({
    name: keyName.optional(),
    budget: givenBudget.nullish(),
    rate: rate.default(defaultLimits.rate),
    burst: burst.default(defaultLimits.burst),
    expires_at: givenMoment.nullish(),
    models: patterns.nullish(),
  })
  .meta({ id: 'NewKey', description: 'A new key.' });
export type NewKeyObject = z.input<typeof newKey>;

/** The answer to `POST /workspaces/{id}/keys`. No other answer has the text of a key. */
export const createdKey = key
  .extend({
    key: z.string().meta({ description: 'The text of the key. It is shown only once.', example: 'sk-weir-…' }),
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
  .meta({ id: 'KeyRotation', description: 'A new key in place of another one.' });
export type KeyRotationObject = z.input<typeof keyRotation>;

/** The answer to `POST /keys/{id}/rotate`. */
export const rotatedKey = createdKey
  .extend({ earlier: key.meta({ description: 'The earlier key, with its expiry.' }) })
  .meta({ id: 'RotatedKey', description: 'A new key with the settings of another one, with its text.' });
export type RotatedKeyObject = z.infer<typeof rotatedKey>;

/** `PATCH /keys/{id}`: absent fields stay as they are, null removes a value. */
export const keyChange = z
  .strictObject({
    name: keyName.nullable().optional(),
    status: z.enum(accountStatuses).optional(),
    budget: givenBudget.nullable().optional(),
    thresholds: givenThresholds.optional(),
    rate: rate.optional(),
    burst: burst.optional(),
    expires_at: givenMoment.nullable().optional(),
    models: patterns.nullable().optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one field to change')
  .meta({ id: 'KeyChange', description: 'The fields of a key to change.' });
export type KeyChangeObject = z.input<typeof keyChange>;
