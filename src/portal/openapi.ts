import { z } from 'zod';

const documentShape = z.looseObject({
  paths: z.unknown(),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

const reference = /^#\/components\/schemas\/(.+)$/;

/** The document with those schemas alone that its paths refer to: every object with an id anywhere in the program is registered. */
export function withUsedSchemas(document: unknown): unknown {
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
