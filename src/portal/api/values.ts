import { z } from 'zod';
import { readMoment } from '../../core/moment.ts';
import { parseSpendable, parseUsd, spendableForm } from '../../core/money.ts';
import { errorTypes } from '../../core/failure.ts';

export { momentSchema as moment } from '../../core/moment.ts';
export { usdSchema as usd } from '../../core/money.ts';

/**
 * A text from a caller, converted by `read`, which returns undefined for a wrong text. `expected`: the right form, for
 * the error.
 */
function given<Value>(expected: string, read: (text: string) => Value | undefined) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });
}

/**
 * A moment from a caller, in milliseconds since the Unix epoch. A UTC day means its first moment, like in the options
 * of the commands.
 */
export const givenMoment = given(
  'a UTC day such as 2026-07-01 or a moment such as 2026-07-01T12:00:00Z',
  readMoment,
).meta({ description: 'A UTC day or a moment with its offset, ISO 8601.', example: '2026-07-01' });

/** An amount from a caller, from 0 to the largest balance of a workspace. */
export const givenUsd = given(spendableForm, parseSpendable).meta({
  description: 'USD, a decimal of at most 12 decimals, at most 9000000.',
  example: '25',
});

/** An amount from a caller, which is below zero for a correction. */
export const givenCredit = given('an amount in USD such as "25" or "-3", with at most 12 decimals', parseUsd).meta({
  description: 'USD, a decimal of at most 12 decimals; below zero for a correction.',
  example: '25',
});

/** Upper bound of counts from callers. */
const maxCount = 1_000_000_000;

export const positiveCount = z.int().min(1).max(maxCount);

export const workspaceId = z.string().meta({ description: 'Id of a workspace.', example: 'ws_9f86d081884c7d659a2f' });
export const keyId = z.string().meta({ description: 'Id of a key.', example: 'key_2c26b46b68ffc68ff99b' });
export const modelId = z.string().meta({ description: 'Id of a model.', example: 'qwen/qwen3-8b' });

/** The object that declares an account (docs/how-to/accounts-in-git.md). */
export const declaredBy = z
  .object({
    kind: z.enum(['Workspace', 'ApiKey', 'Identity']),
    namespace: z.string(),
    name: z.string(),
    locked: z.boolean().meta({ description: 'Whether only the object can change it: this API answers 409.' }),
  })
  .nullable()
  .meta({ description: 'The object that declares it; null: there is none.' });

/** Most entries of a page. */
const maxPerPage = 500;

/** The requested part of a list. */
export const pageQuery = z.object({
  cursor: z
    .string()
    .max(200)
    .optional()
    .meta({ description: '`next_cursor` of the page before; without it, the list begins.' }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxPerPage)
    .default(50)
    .meta({ description: `Most entries of the page, 1 to ${maxPerPage}.`, example: 50 }),
});

/** A `next_cursor` that is a number with at most this many digits. */
export function numberCursor(digits: number) {
  const form = new RegExp(`^\\d{1,${digits}}$`);
  return z.string().regex(form, 'expected next_cursor of the previous page').transform(Number);
}

/** A page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item, what: { readonly id: string; readonly of: string }) {
  return z
    .object({
      data: z.array(item),
      next_cursor: z
        .string()
        .nullable()
        .meta({ description: '`cursor` of the next page; null when this is the last one.' }),
    })
    .meta({ id: what.id, description: `A page of ${what.of}.` });
}

/** An error answer, in the envelope of the service (docs/reference/api.md §2.5). */
export const errorAnswer = z
  .object({
    error: z.object({
      message: z.string().meta({ example: 'budget.limit: expected an amount in USD such as "25".' }),
      type: z.enum(errorTypes),
      code: z
        .string()
        .meta({ description: 'The reason, from the table of docs/reference/errors.md.', example: 'field_malformed' }),
      field: z
        .string()
        .optional()
        .meta({ description: 'The wrong field, where the error names one.', example: 'budget.limit' }),
    }),
  })
  .meta({ id: 'Error', description: 'Why the request was refused or failed.' });
export type ErrorObject = z.infer<typeof errorAnswer>;
