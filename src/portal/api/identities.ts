import { z } from 'zod';
import { keyStatuses } from '../../core/account.ts';
import { identityBounds, identityLimits, identityShares, maxSubjects } from '../../core/identity.ts';
import { changeShape, newShape, shownShape } from './account-shapes.ts';
import { key } from './keys.ts';
import { declaredBy, pageOf } from './values.ts';

const { maxIssuerLength, maxAudienceLength, maxMatch, maxRuleLength } = identityBounds;
const rule = z.string().min(1).max(maxRuleLength);

/** The rules in a body. Whether they can be read is judged with the identity, because commands give them, too. */
const rules = {
  issuer: z.string().max(maxIssuerLength).meta({
    description: '`cluster` for the API server, or the address of an OpenID Connect issuer, exactly as in `iss`.',
    example: 'cluster',
  }),
  audience: z
    .string()
    .max(maxAudienceLength)
    .meta({ description: 'Audience that must be in `aud` of the token.', example: 'weir' }),
  match: z
    .array(rule)
    .max(maxMatch)
    .meta({
      description: 'CEL expressions over `claims`. All must be true.',
      example: ['claims["kubernetes.io"].namespace == "search"'],
    }),
  each: z
    .enum(identityShares)
    .meta({ description: '`identity`: all tokens share the limits; `subject`: each subject has its own.' }),
  tags: z
    .record(z.string(), rule)
    .meta({ description: 'CEL over `claims` by tag name.', example: { app: 'claims.sub' } }),
  bound: z
    .boolean()
    .meta({ description: 'Whether the API server must confirm that the ServiceAccount and the pod still exist.' }),
};
const payer = {
  workspace: z.string().meta({ description: 'Name or id of the workspace that pays.', example: 'acme' }),
  workspace_claim: rule.meta({ description: 'Instead of `workspace`: CEL over `claims` that returns its name.' }),
};

/** The fields of a body that are no limits. */
export const identityRuleFields = [...Object.keys(rules), ...Object.keys(payer)];

const { status, ...limits } = shownShape(identityLimits);

/** An identity in the form of `weir identity … --json`, with its object. */
export const identity = z
  .object({
    id: z.string().meta({ description: 'Id of the identity.', example: 'identity_2c26b46b68ffc68ff99b' }),
    name: z.string().meta({ description: 'Unique among identities that are not revoked.', example: 'search' }),
    status,
    ...rules,
    workspace: payer.workspace
      .nullable()
      .meta({ description: 'Name of the workspace that pays; null: a claim names it.' }),
    workspace_claim: payer.workspace_claim.nullable(),
    ...limits,
    declared_by: declaredBy,
  })
  .meta({ id: 'Identity', description: 'Joins tokens of an issuer to a workspace.' });
export type IdentityObject = z.infer<typeof identity>;

export const identityPage = pageOf(identity, { id: 'IdentityPage', of: 'identities by name. A list has them all' });

/** `GET /identities/{id}/accounts`. */
export const identityAccounts = pageOf(key, {
  id: 'IdentityAccounts',
  of: `accounts by name, the first ${maxSubjects}`,
});

const { each, tags, bound, ...required } = rules;

/** `POST /identities`. */
export const newIdentity = z
  .strictObject({
    name: z.string().meta({ description: 'Letters, digits, ".", "_" and "-", at most 64.', example: 'search' }),
    ...required,
    each: each.default('identity'),
    tags: tags.default({}),
    bound: bound.default(false),
    workspace: payer.workspace.optional(),
    workspace_claim: payer.workspace_claim.optional(),
    ...newShape(identityLimits),
  })
  .refine(
    ({ workspace, workspace_claim: claim }) => (workspace === undefined) !== (claim === undefined),
    'expected workspace or workspace_claim, and not both',
  )
  .meta({ id: 'NewIdentity', description: 'A new identity.' });
export type NewIdentityObject = z.input<typeof newIdentity>;

/** `PATCH /identities/{id}`: absent fields stay as they are, null removes a value. */
export const identityChange = z
  .strictObject({
    ...z.object({ ...rules, ...payer }).partial().shape,
    ...changeShape(identityLimits),
    status: z.enum(keyStatuses).optional().meta({ description: '`revoked` is final.' }),
  })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one field to change')
  .refine(
    ({ workspace, workspace_claim: claim }) => workspace === undefined || claim === undefined,
    'expected workspace or workspace_claim, and not both',
  )
  .meta({ id: 'IdentityChange', description: 'The fields of an identity to change.' });
