import { z } from 'zod';
import { problemSchema } from '../../control/core/problem.ts';
import { servicesAsked } from './catalog.ts';

export const problemList = z
  .object({ services: servicesAsked, data: z.array(problemSchema), next_cursor: z.null() })
  .meta({ id: 'ProblemList', description: 'All current problems, the most urgent first; empty when there are none.' });
