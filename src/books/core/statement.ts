import { z } from 'zod';
import { momentSchema } from '../../core/moment.ts';
import { usdSchema } from '../../core/money.ts';
import { isoOf } from './field-kinds.ts';

const monthForm = /^\d{4}-(0[1-9]|1[0-2])$/;

/** `2026-11`, a month in UTC. Undefined: the text is none. */
export function monthOf(text: string): string | undefined {
  return monthForm.test(text) ? text : undefined;
}

export const expectedMonth = 'a month such as 2026-11';
const month = z.string().regex(monthForm).meta({ description: 'A month in UTC.', example: '2026-11' });

/** How long after the end of a month its statement is made for good. A request that is settled later is an entry of the next one. */
export const closedAfterHours = 6;

const hourMs = 3_600_000;
/** The month of a moment, the moment at which a month begins, and the month that follows one. */
export const monthAt = (moment: number): string => isoOf(moment).slice(0, 7);
export const monthStart = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);
export const nextMonth = (month: string): string => monthAt(monthStart(month) + 32 * 24 * hourMs);

/** When the statement of a month is made for good. */
export const closesAt = (month: string): number => monthStart(nextMonth(month)) + closedAfterHours * hourMs;
/** The newest month whose statement is made for good. */
export const lastClosed = (now: number): string => monthAt(monthStart(monthAt(now - closedAfterHours * hourMs)) - 1);

const count = z.int().min(0);
const costBefore = usdSchema.meta({ description: 'The cost in the month before.' });

/** The ways in which the usage of a statement is divided. The lines of each, and of each name of a tag, add up to the usage. */
export const statementGroups = ['key', 'identity', 'model', 'tag'] as const;
export type StatementGroup = (typeof statementGroups)[number];

const statementLine = z
  .object({
    by: z.enum(statementGroups),
    tag: z.string().nullable().meta({ description: 'The tag name; null for other lines.', example: 'team' }),
    id: z.string().nullable().meta({
      description:
        'Id of the key, identity or model, or the tag value; null: keys without an identity, requests without the tag.',
    }),
    name: z.string().nullable().meta({ description: 'Name of the key or the identity.' }),
    requests: count,
    prompt_tokens: count,
    cached_tokens: count,
    completion_tokens: count,
    reasoning_tokens: count,
    web_searches: count,
    cost: usdSchema,
    share: z.number().meta({ description: 'Per cent of the month’s usage, with two decimals.', example: 12.5 }),
    cost_before: costBefore,
  })
  .meta({ id: 'StatementLine', description: 'A part of the usage of a month.' });
export type StatementLine = z.infer<typeof statementLine>;

/**
 * The account of a workspace for a month: `opening_balance` + `credits` + `corrections` − `usage` − `late_usage` =
 * `closing_balance`, to the last unit. A closed one is kept as it is here.
 */
export const statementSchema = z
  .object({
    workspace: z.string().meta({ description: 'Name of the workspace.' }),
    workspace_id: z.string(),
    month,
    state: z
      .enum(['open', 'closed'])
      .meta({ description: `Closed ${closedAfterHours} hours after the end of the month; it never changes again.` }),
    labels: z.record(z.string(), z.string()).meta({ description: 'Labels of the workspace.' }),
    opening_balance: usdSchema,
    credits: usdSchema.meta({ description: 'The sum of the credits.' }),
    corrections: usdSchema.meta({ description: 'The sum of the corrections, not above zero.' }),
    usage: usdSchema.meta({ description: 'The cost of the requests that began in the month.' }),
    usage_before: costBefore,
    late_usage: usdSchema.meta({
      description: 'The cost of requests of closed months that were settled after these closed.',
    }),
    closing_balance: usdSchema,
    entries: z
      .array(
        z.object({
          id: z
            .string()
            .nullable()
            .meta({ description: 'Null: the sum of those of closed months that were added later.' }),
          at: momentSchema,
          amount: usdSchema,
          note: z.string().nullable(),
        }),
      )
      .meta({ description: 'Credits and corrections, oldest first.' }),
    late: z
      .array(z.object({ month, key: z.string(), key_name: z.string().nullable(), requests: count, cost: usdSchema }))
      .meta({ description: 'The late usage by month and key.' }),
    lines: z.array(statementLine),
    totals: z
      .object({ requests: count, credits: usdSchema, costs: usdSchema })
      .meta({ description: 'From the first month to this one, late usage and corrections included.' }),
  })
  .meta({ id: 'Statement', description: 'The account of a workspace for a month.' });
export type MonthStatement = z.infer<typeof statementSchema>;

type Cell = string | number | null;

const sums = [
  'requests',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'web_searches',
] as const;

/**
 * A statement as rows of CSV, the first with the titles. `amount` is what changes the balance: those between the opening and the
 * closing balance are their difference. `cost` divides the usage. Each label of the workspace is a column.
 */
export function statementRows(statement: MonthStatement): readonly (readonly Cell[])[] {
  const { workspace, workspace_id: id, month: of, state, labels } = statement;
  const own = [...[workspace, id, of, state], ...Object.values(labels)];
  const entry = (line: string, amount: string, about: readonly Cell[] = [null, null, null]): readonly Cell[] => [
    ...own,
    line,
    null,
    ...about,
    amount,
    ...sums.map(() => null),
    null,
    null,
    null,
  ];
  return [
    [
      ...['workspace', 'workspace_id', 'month', 'state'],
      ...Object.keys(labels).map((name) => `label:${name}`),
      ...['line', 'tag', 'id', 'name', 'when', 'amount', ...sums, 'cost', 'share', 'cost_before'],
    ],
    entry('opening-balance', statement.opening_balance),
    ...statement.entries.map(({ id: entryId, at, amount, note }) =>
      entry(amount.startsWith('-') ? 'correction' : 'credit', amount, [entryId, note, at]),
    ),
    entry('usage', negative(statement.usage)),
    ...statement.late.map(({ month: since, key, key_name: name, cost }) =>
      entry('late-usage', negative(cost), [key, name, since]),
    ),
    entry('closing-balance', statement.closing_balance),
    ...statement.lines.map((line) => [
      ...[...own, line.by, line.tag, line.id, line.name, null, null],
      ...[...sums.map((sum) => line[sum]), line.cost, line.share, line.cost_before],
    ]),
  ];
}

const negative = (usd: string): string => (usd === '0' ? usd : `-${usd}`);
