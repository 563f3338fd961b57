import * as z from 'zod';
import { category, type CustomResource, group, version } from './custom-resources.ts';
import { isFields } from './is-fields.ts';

/** A schema in the OpenAPI 3.0 of a CRD, as zod writes it. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly [keyword: string]: unknown;
}

/**
 * The OpenAPI schema of a spec or status, as an author writes it: defaults are there, and nothing that has one is
 * required. It is structural (Kubernetes' word for: every value has one type) as long as the zod schema has no unions.
 */
export function openApiSchema(schema: z.ZodType): OpenApiSchema {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- what zod writes for this target
  return structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as OpenApiSchema);
}

/**
 * Unknown fields are refused by field validation and pruned, never by `additionalProperties`, which a structural schema
 * may not hold. A group that is `{}` by default is written out, because the API server holds the rules against the
 * default as it is written.
 */
function structural({ additionalProperties: _, properties, items, ...rest }: OpenApiSchema): OpenApiSchema {
  const schema: OpenApiSchema = {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, structural(value)])),
    }),
    ...(items && { items: structural(items) }),
  };
  return isFields(rest['default']) ? { ...schema, default: filled(schema, rest['default']) } : schema;
}

/** A group of fields with the defaults of those that it leaves out. */
function filled({ properties = {} }: OpenApiSchema, value: Readonly<Record<string, unknown>>): unknown {
  const defaults = Object.entries(properties).filter(([, property]) => 'default' in property);
  return { ...Object.fromEntries(defaults.map(([name, property]) => [name, property['default']])), ...value };
}

/** The CustomResourceDefinition (apiextensions.k8s.io/v1) of a kind. */
export function customResourceDefinition(resource: CustomResource): Readonly<Record<string, unknown>> {
  const { kind, plural, singular, shortNames } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/name': 'weir' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: [category] },
      versions: [
        {
          ...{ name: version, served: true, storage: true },
          schema: { openAPIV3Schema: objectSchema(resource) },
          subresources: { status: {} },
          selectableFields: resource.selectable.map((jsonPath) => ({ jsonPath })),
          additionalPrinterColumns: resource.columns,
        },
      ],
    },
  };
}

function objectSchema({ description, spec, status }: CustomResource): OpenApiSchema {
  return {
    type: 'object',
    description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { ...openApiSchema(spec), description: 'What its author wants.' },
      status: { ...openApiSchema(status), description: 'What Weir says of it. Only the elected leader writes it.' },
    },
  };
}
