import { z } from 'zod';
import { usageDimensions } from '../../books/core/administration.ts';
import { surfaces } from '../../core/dialect.ts';
import { tagNameOf } from '../../core/tags.ts';
import { givenMoment, keyId, modelId, moment, numberCursor, usd } from './values.ts';

const dimensions = z.array(z.enum(usageDimensions));

const maxLines = 10_000;
const maxGroups = 500;

/** `GET /usage`: filters and dimensions of the sums. */
export const usageQuery = z.object({
  from: givenMoment.optional().meta({ description: 'From this UTC hour on; without it, from the first request.' }),
  to: givenMoment.optional().meta({ description: 'Before this UTC hour; without it, until now.' }),
  by: z
    .string()
    .default('')
    .transform((text, context) => {
      const names = dimensions.safeParse(text.split(',').filter((part) => part !== ''));
      if (names.success && new Set(names.data).size === names.data.length) return names.data;
      context.addIssue(`expected any of ${usageDimensions.join(', ')}, each once, with commas`);
      return z.NEVER;
    })
    .meta({
      description: `Any of ${usageDimensions.join(', ')}, with commas; without it, one line.`,
      example: 'day,model',
    }),
  workspace: z.string().optional().meta({ description: 'Only this workspace, by id or name.' }),
  key: keyId.optional().meta({ description: 'Only this key.' }),
  model: modelId.optional().meta({ description: 'Only this model.' }),
  tag: z
    .string()
    .refine((text) => tagNameOf(text) !== undefined, 'expected the name of a tag')
    .optional()
    .meta({
      description:
        'The tag name by whose values `by=tag` groups. Tags are counted by days: `from` and `to` are then UTC days, and `by` has no `hour`.',
      example: 'team',
    }),
  top: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxGroups)
    .optional()
    .meta({
      description: `Lines only for so many models, keys, workspaces or values of a tag, 1 to ${maxGroups}: the most expensive ones of the whole time. The others are one line of each period, with null as model, key, workspace or tag. \`by\` then has one of them, and \`hour\`, \`day\` or \`week\` at most.`,
      example: 7,
    }),
  cursor: numberCursor(9).default(0).meta({ description: '`next_cursor` of the page before. CSV has all lines.' }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxLines)
    .default(1_000)
    .meta({ description: `Most lines of the page, 1 to ${maxLines}.` }),
});

const count = z.int().min(0);

/**
 * One line of a report. Dimensions outside `by` are null. With `top`, the sum of all others has null in place of the model, key, workspace or tag.
 */
export const usageLine = z
  .object({
    hour: z.string().nullable().meta({ description: 'UTC hour.', example: '2026-07-01T13:00Z' }),
    day: z.string().nullable().meta({ description: 'UTC day.', example: '2026-07-01' }),
    week: z.string().nullable().meta({ description: 'The Monday of a week, a UTC day.', example: '2026-06-29' }),
    model: modelId.nullable(),
    key: keyId.nullable(),
    key_name: z.string().nullable().meta({ description: 'Name of the key, where it has one.' }),
    key_workspace: z.string().nullable().meta({ description: 'Name of the key’s workspace.' }),
    workspace: z.string().nullable().meta({ description: 'Name of the workspace.' }),
    surface: z.enum(surfaces).nullable(),
    tag: z
      .string()
      .nullable()
      .meta({ description: 'A value of the tag; empty for requests without it.', example: 'search' }),
    requests: count,
    errors: count.meta({ description: 'Requests that broke off or failed, other than by their caller.' }),
    prompt_tokens: count,
    completion_tokens: count,
    cached_tokens: count,
    reasoning_tokens: count,
    web_searches: count,
    cost: usd,
    first_token_p50_ms: z
      .number()
      .nullable()
      .meta({ description: 'Median time to the first token, ms, interpolated in a histogram; null when none came.' }),
    first_token_p95_ms: z
      .number()
      .nullable()
      .meta({ description: 'The 95th percentile, ms; 30000 also stands for longer.' }),
  })
  .meta({ id: 'UsageLine', description: 'The sums of one group of requests.' });
export type UsageLineObject = z.infer<typeof usageLine>;

/** The answer to `GET /usage`. */
export const usageReport = z
  .object({
    from: moment.nullable(),
    to: moment.nullable(),
    data: z.array(usageLine),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'UsageReport', description: 'Usage and its cost.' });
export type UsageReportObject = z.infer<typeof usageReport>;
