import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';

/** The server, whose schemas are zod's. */
export type App = ReturnType<typeof typed>;

/** The options of a route: what it does, its answers besides errors, and what it takes. `tag`: the group in the OpenAPI document. */
export const describing =
  (tag: string) =>
  <Answers extends object, Given extends object>(summary: string, response: Answers, given: Given) => ({
    schema: { tags: [tag], summary, ...given, response },
  });

export const typed = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();
