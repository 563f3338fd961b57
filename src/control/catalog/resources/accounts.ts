import * as z from 'zod';
import { defaultThresholds } from '../../../core/alert.ts';
import { listBounds } from '../../../core/limits.ts';
import { defaultLimits } from '../../../core/limits.ts';
import { immutable, instant, metadata, objectName, shaped, text, withRules } from './fields.ts';

// The specs of `Workspace`, `ApiKey` and `Credit`, the objects that declare accounts.

/** Six digits before the point, because a workspace holds at most $9,000,000. */
const amountExpected = 'USD below 1000000 with at most 12 decimals';
const amountText = z.string({ error: `expected a decimal in quotes, ${amountExpected}, such as "200"` }).max(20);

/** An amount of at least 0. */
const usd = shaped(amountText, /^[0-9]{1,6}(\.[0-9]{1,12})?$/, `expected ${amountExpected} and no sign, such as "200"`);

/** The amount of a credit. Below zero: a correction. */
const signedUsd = shaped(
  amountText,
  /^-?[0-9]{1,6}(\.[0-9]{1,12})?$/,
  `expected ${amountExpected}, such as "25", or below zero for a correction`,
);

const accountStatus = z.enum(['Active', 'Suspended']).default('Active');
const maxOfInFlight = 1_000_000_000;

/** The longest name of a Workspace: a workspace of another namespace has that name in front of its own in the ledger. */
export const maxWorkspaceNameLength = 63;

const maxLabels = 16;

const labels = z.record(z.string().max(63), z.string().max(63)).superRefine((given, context) => {
  if (Object.keys(given).length <= maxLabels) return;
  context.addIssue({ code: 'custom', message: `expected at most ${maxLabels} labels` });
});

const thresholds = z
  .array(z.int({ error: 'expected a whole percentage from 1 to 100' }).min(1).max(100))
  .max(listBounds.maxThresholds)
  .optional();

/** The `spec` of a Workspace: the account that pays. */
export const workspaceSpec = z.strictObject({
  maxInFlight: z
    .int()
    .min(1)
    .max(maxOfInFlight)
    .default(defaultLimits.maxInFlight)
    .meta({
      description: `Requests that it may have under way at once. Default ${defaultLimits.maxInFlight}.`,
      example: 256,
    }),
  status: accountStatus.meta({
    description: 'Suspended: all requests of its keys get 403. Default Active.',
    example: 'Suspended',
  }),
  creditLimit: usd.default('0').meta({
    description:
      'Post-paid: how far its balance may go below zero, a decimal in USD in quotes. Default "0": requests need a balance above zero.',
    example: '500',
  }),
  thresholds: thresholds.meta({
    description: `Percentages of the balance after its last credit at which there is an alert, each from 1 to 100, at most ${listBounds.maxThresholds}. Empty: no alerts. Default: ${defaultThresholds.join(', ')}.`,
    example: [75, 90],
  }),
  labels: labels.default({}).meta({
    description: `Labels for people and their tools, at most ${maxLabels}. The admin API and the audit trail show them. Default: none.`,
    example: { team: 'search' },
    maxProperties: maxLabels,
  }),
});

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
  perSecond: z
    .int()
    .min(1)
    .max(maxOfInFlight)
    .default(defaultLimits.rate)
    .meta({ description: `Sustained requests per second. Default ${defaultLimits.rate}.`, example: 100 }),
  burst: z
    .int()
    .min(1)
    .max(maxOfInFlight)
    .default(defaultLimits.burst)
    .meta({ description: `Requests at once above the rate. Default ${defaultLimits.burst}.`, example: 200 }),
});

const modelPattern = shaped(
  z.string().min(3).max(128),
  /^[a-z0-9][a-z0-9._-]*\/([a-z0-9][a-z0-9._-]*|\*)$/,
  'expected the id of a model in lower case, such as "qwen/qwen3-8b", or "qwen/*" for all of an organisation',
);

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
  status: accountStatus.meta({
    description: 'Suspended: requests with the key get 403. Default Active.',
    example: 'Suspended',
  }),
  budget: budget.optional().meta({ description: 'The most that can be spent with the key. Default: no budget.' }),
  rate: rate.prefault({}).meta({ description: 'How many requests the key can make.' }),
  models: z
    .array(modelPattern)
    .min(1)
    .max(listBounds.maxKeyModels)
    .optional()
    .meta({
      description: `All that the key can call, by id and not by alias, at most ${listBounds.maxKeyModels}. Default: every model.`,
      example: ['qwen/*'],
    }),
  expiresAt: instant.optional().meta({
    description: 'Requests from this moment on get 401. Default: never.',
    example: '2027-06-30T00:00:00Z',
  }),
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

const object = <Kind extends string, Spec extends z.ZodType>(kind: Kind, spec: Spec) =>
  z.strictObject({
    apiVersion: z.literal('weir.dev/v1alpha1'),
    kind: z.literal(kind),
    metadata,
    spec,
    status: z.unknown().optional(),
  });

export const workspaceSchema = object('Workspace', workspaceSpec);
export const apiKeySchema = object('ApiKey', apiKeySpec);
export const creditSchema = object('Credit', creditSpec);
export type WorkspaceResource = z.output<typeof workspaceSchema>;
export type ApiKeyResource = z.output<typeof apiKeySchema>;
export type CreditResource = z.output<typeof creditSchema>;
