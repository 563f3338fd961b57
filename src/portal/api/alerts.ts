import { z } from 'zod';
import { alertKinds, deliveryStates, thresholdsForm } from '../../core/alert.ts';
import { keyId, moment, usd } from './values.ts';

const percent = z.int().min(1).max(100);

/** A threshold that a budget or a balance has reached. */
const alert = z
  .object({
    id: z.string().meta({ description: 'Id of the webhook, too.', example: 'alert_6b86b273ff34fce19d6b' }),
    kind: z.enum(alertKinds).meta({ description: '`budget`: of a key. `tag`: the budget of a tag.' }),
    key: keyId.nullable().meta({ description: 'The key with the budget; null for a balance and a tag.' }),
    key_name: z.string().nullable(),
    tag: z.string().nullable().meta({ description: 'The tag with the budget.', example: 'team=search' }),
    percent,
    used: usd,
    limit: usd.meta({ description: 'The budget, or what could be spent right after the last credit.' }),
    at: moment,
    delivery: z.enum(deliveryStates).meta({
      description:
        'Of the webhook. `none`: none was set, or a collected one counts it. `failed`: the receiver accepted no try within a day.',
    }),
  })
  .meta({ id: 'Alert', description: 'A budget or a balance has reached a threshold.' });
export type AlertObject = z.infer<typeof alert>;

/** `GET /workspaces/{id}/alerts`. */
export const alertList = z
  .object({
    thresholds: z.array(percent).meta({ description: 'Percentages of the balance at which there is an alert.' }),
    data: z.array(alert),
    next_cursor: z.null(),
  })
  .meta({ id: 'AlertList', description: 'The newest alerts of a workspace, its keys and its tags.' });
export type AlertListObject = z.infer<typeof alertList>;

/** The thresholds that a budget has. */
export const budgetThresholds = z
  .array(percent)
  .meta({ description: 'Percentages of the budget at which there is an alert.' });

/** The thresholds that a request gives a budget. */
export const givenThresholds = z
  .array(percent)
  .nullable()
  .meta({ description: `Of the budget: ${thresholdsForm}; empty for no alerts, null for the default.` });

/** `POST /workspaces/{id}/thresholds`. */
export const newThresholds = z
  .strictObject({
    percents: z
      .array(percent)
      .nullable()
      .meta({ description: `For the balance: ${thresholdsForm}; empty for no alerts, null for the default.` }),
  })
  .meta({ id: 'NewThresholds', description: 'When a workspace gets alerts about its balance.' });

export const thresholdsSet = z.object({ thresholds: z.array(percent) }).meta({ id: 'Thresholds' });
