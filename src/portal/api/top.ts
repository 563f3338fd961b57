import { z } from 'zod';
import { trafficGroup, trafficRowSchema } from '../../telemetry/core/traffic.ts';
import { servicesAsked } from './catalog.ts';

export const topQuery = z.object({
  by: trafficGroup.default('key').meta({ description: 'The dimension that groups the requests.' }),
});

const topRow = trafficRowSchema
  .extend({ label: z.string().nullable().meta({ description: 'Names of the workspace and the key; null: none.' }) })
  .meta({ id: 'TopRow' });
export type TopRowObject = z.infer<typeof topRow>;

export const topList = z.object({ services: servicesAsked, data: z.array(topRow), next_cursor: z.null() }).meta({
  id: 'TopList',
  description: 'The last minute’s requests over all services, the most first; at most 50 rows.',
});
export type TopListObject = z.infer<typeof topList>;
