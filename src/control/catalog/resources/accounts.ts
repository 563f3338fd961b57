import * as z from 'zod';
import { keyFields, workspaceFields } from '../../../core/account.ts';
import { defaultThresholds } from '../../../core/alert.ts';
import { parseUsd } from '../../../core/money.ts';
import { identityBounds, issuerPattern, maxSubjects } from '../../../core/identity.ts';
import { defaultLimits, listBounds } from '../../../core/limits.ts';
import { tagNameOf } from '../../../core/tags.ts';
import { count, signedUsd, specShape, thresholds, usd } from './account-spec.ts';
import { immutable, resource, objectName, shaped, text, withRules } from './fields.ts';

// The specs of the objects that declare accounts.

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
  usd: usd.meta({ description: 'Maximum spend in a period, a decimal in USD in quotes.', example: '200' }),
  period: z.enum(['Day', 'Week', 'Month', 'Total']).meta({
    description: 'Reset of the budget, in UTC: each day, each Monday, each first of the month, or never.',
    example: 'Month',
  }),
  thresholds: thresholds.meta({
    description: `Alert thresholds, percentages of the budget, each from 1 to 100, at most ${listBounds.maxThresholds}. Empty: no alerts. Default: ${defaultThresholds.join(', ')}.`,
    example: [50, 80, 100],
  }),
});

const rate = z.strictObject({
  perSecond: count
    .default(defaultLimits.rate)
    .meta({ description: `Sustained requests per second. Default ${defaultLimits.rate}.`, example: 100 }),
  burst: count
    .default(defaultLimits.burst)
    .meta({ description: `Burst above the rate, requests. Default ${defaultLimits.burst}.`, example: 200 }),
});

const periods = { Day: 'day', Week: 'week', Month: 'month', Total: 'total' } as const;

/** Budget and rate of a spec, as the ledger has them. */
export const limitsOfSpec = (spec: {
  readonly budget?: Pick<z.output<typeof budget>, 'usd' | 'period'> | undefined;
  readonly rate: z.output<typeof rate>;
}) => ({
  budget: spec.budget && { limit: parseUsd(spec.budget.usd) ?? 0n, period: periods[spec.budget.period] },
  ...{ rate: spec.rate.perSecond, burst: spec.rate.burst },
});

const rotation = withRules(
  z.strictObject({
    everyDays: z
      .int()
      .min(1)
      .max(3_650)
      .meta({ description: 'Age in days at which Weir replaces the key, 1 to 3650.', example: 90 }),
    overlapHours: z.int().min(0).max(8_760).default(24).meta({
      description:
        'Hours for which the replaced key still works, so that its users can switch. Afterwards it expires. Default 24.',
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

const { status: keyStatus, models, expiresAt, tokensPerMinute, notEnforced, ...ofKey } = specShape(keyFields);

/** The `spec` of an ApiKey: a credential of a Workspace, whose text is in a Secret. */
export const apiKeySpec = z.strictObject({
  workspace: immutable(workspaceName, stays).meta({
    description: `Name of the Workspace that pays. It must be an object in the namespace of this one. It has at most ${listBounds.maxKeys} keys that are neither revoked nor expired.`,
    example: 'search-team',
  }),
  secretRef: keySecret.meta({
    description:
      'The Secret with the key’s text, in the entry `key`. If it does not exist, Weir creates it and owns it. If it contains a well-formed key, Weir uses that key.',
  }),
  status: keyStatus,
  budget: budget.optional().meta({ description: 'Maximum spend with the key. Default: no budget.' }),
  rate: rate.prefault({}).meta({ description: 'Rate limit of the key.' }),
  ...{ tokensPerMinute, notEnforced },
  models,
  expiresAt,
  ...ofKey,
  rotation: rotation.optional().meta({
    description: 'Rotation of the key in a Secret that Weir owns. Default: never. It needs a Secret that Weir created.',
  }),
});
export type ApiKeySpec = z.output<typeof apiKeySpec>;

const creditFields = z.strictObject({
  workspace: workspaceName.meta({
    description: 'Name of the Workspace that gets the money. It must be an object in the namespace of this one.',
    example: 'search-team',
  }),
  usd: signedUsd.meta({
    description: 'Amount, a decimal in USD in quotes. Below zero: a correction, limited by the balance.',
    example: '25',
  }),
  note: text(500).meta({
    description:
      'Its purpose, in one line. A workspace books each combination of note and amount once, whatever the object’s name.',
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
  'cannot change, because a Credit is booked once; create another Credit',
);

const { maxIssuerLength, maxAudienceLength, maxMatch, maxRuleLength } = identityBounds;
const rule = z.string().min(1).max(maxRuleLength);

const ruleTags = z.record(z.string(), rule).superRefine((given, context) => {
  const names = Object.keys(given);
  const { maxRequestTags } = listBounds;
  if (names.length > maxRequestTags)
    context.addIssue({ code: 'custom', message: `expected at most ${maxRequestTags} tags` });
  const unnamed = names.find((name) => tagNameOf(name) === undefined);
  if (unnamed !== undefined)
    context.addIssue({ code: 'custom', message: `${JSON.stringify(unnamed)} cannot be the name of a tag` });
});

const identityFields = z.strictObject({
  issuer: shaped(
    z.string().min(1).max(maxIssuerLength),
    issuerPattern,
    'expected "cluster", or the address of an OpenID Connect issuer with https:// and without a query',
  ).meta({
    description:
      'Issuer of the tokens: `cluster` for the API server of this cluster, or the address of an OpenID Connect issuer, exactly as in `iss`.',
    example: 'cluster',
  }),
  audience: z
    .string()
    .min(1)
    .max(maxAudienceLength)
    .meta({ description: 'Audience that must be in `aud` of the token.', example: 'weir' }),
  match: z
    .array(rule)
    .min(1)
    .max(maxMatch)
    .meta({
      description: 'CEL expressions over `claims`, the token’s claims. All must be true.',
      example: ['claims["kubernetes.io"].namespace == "search"'],
    }),
  workspace: workspaceName.optional().meta({
    description: 'Name of the Workspace that pays. It must be an object in the namespace of this one.',
    example: 'search-team',
  }),
  workspaceClaim: rule.optional().meta({
    description:
      'Instead of `workspace`: CEL over `claims` that returns the name of a Workspace in the namespace of this object.',
    example: 'claims["kubernetes.io"].namespace',
  }),
  each: z
    .enum(['Identity', 'Subject'])
    .default('Identity')
    .meta({
      description: `Identity: all tokens share budget and rate. Subject: each subject (\`sub\`) has its own; subjects beyond the first ${maxSubjects} share one account. Default Identity.`,
      example: 'Subject',
    }),
  tags: ruleTags.default({}).meta({
    description: `Tags of the requests, at most ${listBounds.maxRequestTags}: CEL over \`claims\` by tag name. They replace the caller’s tags with these names. Weir refuses a token without a value. Default: none.`,
    example: { app: 'claims.sub' },
    maxProperties: listBounds.maxRequestTags,
  }),
  bound: z.boolean().default(false).meta({
    description:
      'Whether the API server must confirm (TokenReview) that the token’s ServiceAccount and pod still exist. Only with issuer `cluster`. Default false.',
    example: true,
  }),
  status: keyStatus.meta({
    description: 'Suspended: requests with its tokens get 403. Default Active.',
    example: 'Suspended',
  }),
  budget: budget.omit({ thresholds: true }).optional().meta({ description: 'Spending limit. Default: no budget.' }),
  rate: rate.prefault({}).meta({ description: 'Rate of requests.' }),
  ...{ tokensPerMinute, notEnforced },
  models: models.meta({
    description: `Models that its tokens can call, by id and not by alias, at most ${listBounds.maxKeyModels}. Default: every model.`,
    example: ['qwen/*'],
  }),
});

/** The `spec` of an Identity: tokens that pay from a Workspace without a key. */
export const identitySpec = withRules(identityFields, [
  {
    field: ['workspace'],
    reason: 'Invalid',
    message: 'expected workspace or workspaceClaim, and not both',
    holds: ({ workspace, workspaceClaim }) => (workspace === undefined) !== (workspaceClaim === undefined),
    cel: 'has(self.workspace) != has(self.workspaceClaim)',
  },
  {
    field: ['bound'],
    reason: 'Invalid',
    message: 'expected issuer "cluster": no other issuer answers a TokenReview',
    holds: ({ bound, issuer }) => !bound || issuer === 'cluster',
    cel: '!self.bound || self.issuer == "cluster"',
  },
]);
export type IdentitySpec = z.output<typeof identitySpec>;

export const workspaceSchema = resource('Workspace', workspaceSpec);
export const apiKeySchema = resource('ApiKey', apiKeySpec);
export const creditSchema = resource('Credit', creditSpec);
export const identitySchema = resource('Identity', identitySpec);
