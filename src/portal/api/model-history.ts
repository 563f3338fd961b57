import { z } from 'zod';
import { modelId, moment, usd } from './values.ts';

/** `GET /models/history`. The id is in the query, because it has slashes. */
export const modelHistoryQuery = z.object({ model: modelId });

const ms = z.number().nullable();

const pricesSince = z.object({ since: moment, prompt: usd, completion: usd, input_cache_read: usd }).meta({
  id: 'PricesSince',
  description: 'USD per token, from the moment at which the portal first saw these prices.',
});
export type PricesSinceObject = z.infer<typeof pricesSince>;

const modelDay = z
  .object({
    day: z.string().meta({ description: 'UTC day.', example: '2026-07-01' }),
    requests: z.int().min(0).nullable().meta({ description: 'Of all workspaces; null for members.' }),
    first_token_p50_ms: ms.meta({ description: 'Median time to the first token, ms; null when none came.' }),
    first_token_p95_ms: ms.meta({ description: 'The 95th percentile, ms; 30000 also stands for longer.' }),
    tokens_per_second: z.number().nullable().meta({
      description:
        'Output tokens of completed answers by the time from their first token to their end, estimated from histograms.',
    }),
  })
  .meta({ id: 'ModelDay', description: 'How fast a model was on a day. Days without a request are left out.' });
export type ModelDayObject = z.infer<typeof modelDay>;

const routeTraffic = z
  .object({
    route: z.string(),
    requests: z.int().min(0),
    share: z.number().min(0).max(1).meta({ description: 'Of the requests that any route of the model delivered.' }),
  })
  .meta({ id: 'RouteTraffic' });

export const modelHistory = z
  .object({
    model: modelId,
    prices: z.array(pricesSince).meta({ description: 'Newest first, at most 100.' }),
    days: z.array(modelDay).meta({ description: 'The last 30 UTC days, oldest first.' }),
    traffic: z.array(routeTraffic).nullable().meta({
      description: 'Delivered requests of the last 24 hours, among the newest 100,000 of all models; null for members.',
    }),
  })
  .meta({ id: 'ModelHistory', description: 'Prices and speed of one model over time.' });
export type ModelHistoryObject = z.infer<typeof modelHistory>;
