import * as z from 'zod';
import { instant } from './fields.ts';
import { conditions, observedGeneration } from './status.ts';

export const workspaceConditionTypes = ['Accepted', 'Ready'] as const;
export const apiKeyConditionTypes = ['Accepted', 'Ready', 'WithinBudget'] as const;
export const creditConditionTypes = ['Accepted', 'Booked'] as const;
export const identityConditionTypes = ['Accepted', 'Ready'] as const;

const common = { observedGeneration: observedGeneration.optional(), conditions: conditions.optional() };

const amount = z.string().max(32);
const refreshed = 'Rounded to cents, and refreshed at most once a minute.';

/** The `status` of a Workspace. */
export const workspaceStatus = z.strictObject({
  ...common,
  id: z.string().max(64).optional().meta({
    description: 'Id of the workspace in the ledger.',
    example: 'ws_9f86d081884c7d659a2f',
  }),
  ledgerName: z.string().max(200).optional().meta({
    description:
      'Name in the ledger, for commands and the admin API. In a namespace other than the gateway’s own, the namespace is its prefix.',
    example: 'team-a_search-team',
  }),
  balance: amount.optional().meta({ description: `Balance in USD. ${refreshed}`, example: '25.00' }),
  spentThisMonth: amount
    .optional()
    .meta({ description: `Spent by its keys since the first of the month (UTC), USD. ${refreshed}`, example: '12.50' }),
  keys: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Its keys that are not revoked, including keys without an object.', example: 3 }),
});

/** The `status` of an ApiKey. It never has the text of the key or its hash. */
export const apiKeyStatus = z.strictObject({
  ...common,
  id: z.string().max(64).optional().meta({
    description: 'Id of the key in the ledger. A rotation keeps it.',
    example: 'key_2c26b46b68ffc68ff99b',
  }),
  prefix: z.string().max(32).optional().meta({ description: 'First characters of the key.', example: 'sk-weir-3vKq' }),
  lastUsedAt: instant.optional().meta({
    description: 'Start of the last settled request with the key, refreshed at most once a minute.',
    example: '2026-11-26T12:00:00Z',
  }),
  rotatesAt: instant
    .optional()
    .meta({ description: 'When the key will be replaced.', example: '2027-02-24T12:00:00Z' }),
  previous: z
    .strictObject({
      prefix: z
        .string()
        .max(32)
        .meta({ description: 'First characters of the replaced key.', example: 'sk-weir-9aBc' }),
      expiresAt: instant.meta({ description: 'Expiry of the replaced key.', example: '2026-11-27T12:00:00Z' }),
    })
    .optional()
    .meta({ description: 'The replaced key, while it still works.' }),
});

/** The `status` of an Identity. Its accounts, one for each subject, are in the ledger alone. */
export const identityStatus = z.strictObject({
  ...common,
  id: z.string().max(64).optional().meta({
    description: 'Id of the identity in the ledger.',
    example: 'identity_2c26b46b68ffc68ff99b',
  }),
  ledgerName: z.string().max(200).optional().meta({
    description: 'Name in reports. In a namespace other than the gateway’s own, the namespace is its prefix.',
    example: 'team-a_search-workloads',
  }),
});

/** The `status` of a Credit. */
export const creditStatus = z.strictObject({
  ...common,
  id: z.string().max(64).optional().meta({
    description: 'Id of the credit in the ledger.',
    example: 'credit_6b86b273ff34fce19d6b',
  }),
  bookedAt: instant.optional().meta({ description: 'Time of the booking.', example: '2026-11-26T12:00:00Z' }),
});
