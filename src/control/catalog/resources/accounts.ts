import * as z from 'zod';
import { keyFields, workspaceFields } from '../../../core/account.ts';
import { defaultThresholds } from '../../../core/alert.ts';
import { defaultLimits, listBounds } from '../../../core/limits.ts';
import { count, signedUsd, specShape, thresholds, usd } from './account-spec.ts';
import { immutable, resource, objectName, shaped, text, withRules } from './fields.ts';

// The specs of `Workspace`, `ApiKey` and `Credit`, the objects that declare accounts.

/** The longest name of a Workspace: a workspace of another namespace has that name in front of its own in the ledger. */
export const maxWorkspaceNameLength = 63;

const { maxInFlight, status, ...settings } = specShape(workspaceFields);

/** The `spec` of a Workspace: the account that pays. */
export const workspaceSpec = z.strictObject({ maxInFlight, status, ...settings });

const stays = 'cannot change; make another ApiKey';

const workspaceName = shaped(
  z.string().min(1).max(maxWorkspaceNameLength),
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'expected the name of a Workspace in the namespace of this object: lowercase letters, digits, "-" and "."',
);

const keySecret = immutable(
  z.strictObject({ name: objectName.meta({ description: 'Name of the Secret.', example: 'search-prod-key' }) }),
  stays,
);

const budget = z.strictObject({
  usd: usd.meta({ description: 'Most that can be spent in a period, a decimal in USD in quotes.', example: '200' }),
  period: z.enum(['Day', 'Week', 'Month', 'Total']).meta({
    description: 'When the budget starts again, in UTC: each day, each Monday, each first of the month, or never.',
    example: 'Month',
  }),
  thresholds: thresholds.meta({
    description: `Percentages of the budget at which there is an alert, each from 1 to 100, at most ${listBounds.maxThresholds}. Empty: no alerts. Default: ${defaultThresholds.join(', ')}.`,
    example: [50, 80, 100],
  }),
});

const rate = z.strictObject({
  perSecond: count
    .default(defaultLimits.rate)
    .meta({ description: `Sustained requests per second. Default ${defaultLimits.rate}.`, example: 100 }),
  burst: count
    .default(defaultLimits.burst)
    .meta({ description: `Requests at once above the rate. Default ${defaultLimits.burst}.`, example: 200 }),
});

const rotation = withRules(
  z.strictObject({
    everyDays: z
      .int()
      .min(1)
      .max(3_650)
      .meta({ description: 'Age in days at which the key is replaced by a new one, 1 to 3650.', example: 90 }),
    overlapHours: z.int().min(0).max(8_760).default(24).meta({
      description:
        'Hours for which the replaced key still works, so that its users can change. It expires then by itself. Default 24.',
      example: 24,
    }),
  }),
  [
    {
      field: ['overlapHours'],
      reason: 'Invalid',
      message: 'expected less than everyDays, so that at most two keys work at a time',
      holds: ({ everyDays, overlapHours }) => overlapHours < everyDays * 24,
      cel: 'self.overlapHours < self.everyDays * 24',
    },
  ],
);

const { status: keyStatus, models, expiresAt, ...ofKey } = specShape(keyFields);

/** The `spec` of an ApiKey: a credential of a Workspace, whose text is in a Secret. */
export const apiKeySpec = z.strictObject({
  workspace: immutable(workspaceName, stays).meta({
    description: `Name of the Workspace that pays. It must be an object in the namespace of this one. It has at most ${listBounds.maxKeys} keys that are neither revoked nor expired.`,
    example: 'search-team',
  }),
  secretRef: keySecret.meta({
    description:
      'The Secret with the text of the key, in the entry `key`. If there is none, Weir makes it and owns it. If there is one with a well-formed key, Weir takes that key.',
  }),
  status: keyStatus,
  budget: budget.optional().meta({ description: 'The most that can be spent with the key. Default: no budget.' }),
  rate: rate.prefault({}).meta({ description: 'How many requests the key can make.' }),
  models,
  expiresAt,
  ...ofKey,
  rotation: rotation.optional().meta({
    description:
      'When Weir replaces the key in the Secret that it owns. Default: never. It needs a Secret that Weir made.',
  }),
});
export type ApiKeySpec = z.output<typeof apiKeySpec>;

const creditFields = z.strictObject({
  workspace: workspaceName.meta({
    description: 'Name of the Workspace that gets the money. It must be an object in the namespace of this one.',
    example: 'search-team',
  }),
  usd: signedUsd.meta({
    description: 'Amount, a decimal in USD in quotes. Below zero: a correction, at most what the books allow.',
    example: '25',
  }),
  note: text(500).meta({
    description:
      'What it is for, in one line. Together with the amount it is booked once in a workspace, under whatever name.',
    example: 'order 8',
  }),
});

/** The `spec` of a Credit: money put into a Workspace, once. */
export const creditSpec = immutable(
  withRules(creditFields, [
    {
      field: ['usd'],
      reason: 'Invalid',
      message: 'expected an amount other than zero',
      holds: ({ usd: amount }) => /[1-9]/.test(amount),
      cel: 'self.usd.matches(r"[1-9]")',
    },
  ]),
  'cannot change, because a Credit is booked once; make another Credit',
);

export const workspaceSchema = resource('Workspace', workspaceSpec);
export const apiKeySchema = resource('ApiKey', apiKeySpec);
export const creditSchema = resource('Credit', creditSpec);
