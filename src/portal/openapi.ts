import fastifySwagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';

const documentShape = z.looseObject({
  paths: z.unknown(),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

const reference = /^#\/components\/schemas\/(.+)$/;

/**
 * Describes all routes that are registered after this call, as OpenAPI 3.1. Call the returned function after the last route: it returns
 * the document.
 */
export async function describeRoutes(server: FastifyInstance, version: string): Promise<() => unknown> {
  await server.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Weir admin API',
        version,
        description: 'Accounts, usage and models: docs/reference/admin-api.md.',
      },
      components: {
        securitySchemes: {
          adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token, or that of a service account.' },
          session: { type: 'apiKey', in: 'cookie', name: 'weir_session', description: 'POST /api/v1/session sets it.' },
        },
      },
      security: [{ adminToken: [] }, { session: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  let document: unknown;
  return () => (document ??= withUsedSchemas(server.swagger()));
}

/** Removes schemas that no path refers to: zod registers every object with an id in the whole program. */
function withUsedSchemas(document: unknown): unknown {
  const { paths, components, ...rest } = documentShape.parse(document);
  const used = new Set<string>();

  function walk(value: unknown): void {
    if (Array.isArray(value)) for (const one of value) walk(one);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) {
        const [, schema] = (name === '$ref' && typeof one === 'string' && reference.exec(one)) || [];
        if (schema === undefined) walk(one);
        else if (!used.has(schema)) {
          used.add(schema);
          walk(components.schemas[schema]);
        }
      }
    }
  }
  walk(paths);
  const schemas = Object.entries(components.schemas).filter(([name]) => used.has(name));
  return { ...rest, paths, components: { ...components, schemas: Object.fromEntries(schemas) } };
}
