import { z } from 'zod';
import type { AccountField } from '../core/account-field.ts';
import { keyFields, workspaceFields } from '../core/account.ts';
import { identityLimits } from '../core/identity.ts';
import type { AccessRight } from '../books/core/rights.ts';
import { accessTo, type accessTable } from './access.ts';
import { identityRuleFields } from './api/identities.ts';

type FieldsWithRights = Readonly<Record<string, AccountField & { readonly right?: AccessRight }>>;

/** The right that setting each field needs: its own, or that of the route. */
function rightsOf(fields: FieldsWithRights, ofRoute: AccessRight): Readonly<Record<string, AccessRight>> {
  return Object.fromEntries(Object.values(fields).map(({ name, right }) => [name, right ?? ofRoute]));
}

const ofTagBudget = 'tag-budgets:change';

const ofIdentity: Readonly<Record<string, AccessRight>> = {
  ...rightsOf(identityLimits, 'identities:change'),
  ...Object.fromEntries(identityRuleFields.map((name) => [name, 'identities:change'])),
};

/**
 * The right that each field of a body needs, in addition to the right of its route: a field needs the right to what it
 * changes. So a workspace's first credit needs the same right as every later one. The portal does not start while a
 * field is missing in this table.
 */
const fieldRights: Readonly<Partial<Record<keyof typeof accessTable, Readonly<Record<string, AccessRight>>>>> = {
  'POST /api/v1/workspaces': {
    ...rightsOf(workspaceFields, 'workspaces:create'),
    name: 'workspaces:create',
    credit: 'balance:change',
  },
  'PATCH /api/v1/workspaces/:id': rightsOf(workspaceFields, 'workspaces:change'),
  'POST /api/v1/workspaces/:id/credits': { amount: 'balance:change', note: 'balance:change' },
  'POST /api/v1/workspaces/:id/thresholds': { percents: 'balance:change' },
  'POST /api/v1/workspaces/:id/tag-budgets': { tag: ofTagBudget, budget: ofTagBudget, thresholds: ofTagBudget },
  'POST /api/v1/workspaces/:id/members': { address: 'members:change', role: 'members:change' },
  'POST /api/v1/users': {
    ...{ address: 'users:change', role: 'users:change', expires_at: 'users:change' },
    ...{ workspace: 'users:change', workspace_role: 'users:change' },
  },
  'PATCH /api/v1/workspaces/:id/members/:member': { role: 'members:change' },
  'POST /api/v1/workspaces/:id/keys': rightsOf(keyFields, 'keys:create'),
  'PATCH /api/v1/keys/:id': rightsOf(keyFields, 'own-keys:change'),
  'POST /api/v1/identities': { ...ofIdentity, name: 'identities:change' },
  'PATCH /api/v1/identities/:id': ofIdentity,
  'POST /api/v1/keys/:id/override': { status: 'keys:override' },
  'POST /api/v1/keys/:id/rotate': { overlap_hours: 'own-keys:change' },
  'POST /api/v1/models/accept-vectors': { model: 'vectors:accept', route: 'vectors:accept' },
  // The gateway reads the rest of the body.
  'POST /api/v1/playground/chat': { model: 'playground:use', messages: 'playground:use' },
  'POST /api/v1/playground/embeddings': { model: 'playground:use', input: 'playground:use' },
};

const table: ReadonlyMap<string, Readonly<Record<string, AccessRight>>> = new Map(Object.entries(fieldRights));

/** Throws for a route whose body has fields that are missing in the table. */
export function checkFieldRights(route: string, body: unknown): void {
  const access = accessTo(route);
  if (body === undefined || access === undefined || access === 'everyone' || access === 'signed-in') return;
  const listed = table.get(route) ?? {};
  for (const field of Object.keys(objectSchema.parse(body).shape)) {
    if (listed[field] === undefined) throw new Error(`${field} of ${route} is not in the table of fields`);
  }
}

/** The rights that the fields of a body need. A field with the value that a missing one gets changes nothing. */
export function rightsOfBody(route: string, schema: unknown, body: unknown): ReadonlySet<AccessRight> {
  const rights = new Set<AccessRight>();
  if (typeof body !== 'object' || body === null) return rights;
  for (const [field, right] of Object.entries(table.get(route) ?? {})) {
    const value: unknown = Reflect.get(body, field);
    if (value !== undefined && value !== objectSchema.parse(schema).shape[field]?.safeParse(undefined).data) {
      rights.add(right);
    }
  }
  return rights;
}

const objectSchema = z.instanceof(z.ZodObject);
