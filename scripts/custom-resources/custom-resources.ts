import * as z from 'zod';
import { backendSpec } from '../../src/control/catalog/resources/backend.ts';
import { intOrStringKey } from '../../src/control/catalog/resources/fields.ts';
import { modelSpec } from '../../src/control/catalog/resources/model.ts';
import { age, column, condition, type CustomResource, messageOf } from './printer-columns.ts';
import { accountResources } from './account-resources.ts';
import {
  type BackendConditionType,
  backendStatus,
  type ModelConditionType,
  modelStatus,
} from '../../src/control/catalog/resources/status.ts';
import { isObject } from '../../src/core/json.ts';

export const group = 'weir.dev';
export const version = 'v1alpha1';
/** `kubectl get weir` lists the objects of every kind. */
export const category = 'weir';

const backendConditions: Readonly<Record<BackendConditionType, string>> = {
  Accepted: 'The object is valid, and its Secrets and ConfigMaps exist. Otherwise the message begins with the field.',
  Programmed:
    'Every replica’s Envoy confirms the cluster, and its Service or InferencePool exists and can have pods. Otherwise the message names the field or the replicas.',
  Healthy:
    'At least one endpoint passes the health check, if there is one, and recent requests have not all failed. The message names the failing endpoints.',
};

const modelConditions: Readonly<Record<ModelConditionType, string>> = {
  Accepted: 'The object is valid and no other object has its id. A mistake in one route disables only that route.',
  Servable: 'In every replica, a route can take a request.',
  SameVectors:
    'Only of embedding models: all endpoints of all routes return the reference vectors (docs/concepts/same-vectors.md). Any other endpoint gets no requests; the message contains its cosine and the usual cause.',
  Priced: 'It is charged the prices of its spec.',
  Listed: '`GET /v1/models` shows it: it is servable, at its service level, and priced.',
  Retiring: 'The model will leave the catalog. The message shows when and why.',
};

/**
 * The path of a Backend's endpoints, which are in one of four fields. The API server shows the first value that a path
 * finds.
 */
const anySource = ".spec['service','inferencePool','endpoint','endpoints']";

const backend: CustomResource = {
  kind: 'Backend',
  plural: 'backends',
  singular: 'backend',
  shortNames: ['be'],
  description: 'Serving capacity: one engine deployment behind one Envoy cluster.',
  spec: backendSpec,
  status: backendStatus,
  conditions: backendConditions,
  columns: [
    column('Engine', '.spec.engine', 'Kind of the engine.'),
    column(
      'Host',
      `${anySource}..['name','host']`,
      'Host of the engine (the first of several), the Service, or the InferencePool.',
    ),
    column('Port', `${anySource}..port`, 'Port of the engine; empty for an InferencePool, which has its own.'),
    column('Endpoints', '.status.endpoints.summary', 'Healthy endpoints, and all endpoints.'),
    condition('Healthy', 'Whether the engine answers.'),
    condition('Programmed', 'Whether every Envoy has this version.'),
    condition('Accepted', 'Whether the object is valid.', 1),
    column('TLS', '.spec.tls.mode', 'TLS of the connection.', { priority: 1 }),
    messageOf('Accepted', 'Problem', 'The object’s problem.'),
    messageOf('Healthy', 'Health', 'Why it is unhealthy, or which endpoints are.'),
    age,
  ],
  selectable: ['.spec.engine', '.spec.endpoint.host', '.spec.service.name', '.spec.inferencePool.name'],
};

const model: CustomResource = {
  kind: 'Model',
  plural: 'models',
  singular: 'model',
  shortNames: ['mdl'],
  description:
    'An entry of the catalog: what callers ask for by its id, what it costs, and the backends that serve it.',
  spec: modelSpec,
  status: modelStatus,
  conditions: modelConditions,
  columns: [
    column('Id', '.spec.id', 'The id that callers pass as model.'),
    condition('Listed', 'Whether the catalog shows it.'),
    column('Routes', '.status.routes.summary', 'Ready routes, and all routes.'),
    column('Prompt', '.spec.pricing.prompt', 'USD per prompt token.'),
    column('Completion', '.spec.pricing.completion', 'USD per output token.'),
    column('Context', '.spec.contextLength', 'Context window, tokens.', { type: 'integer' }),
    condition('Accepted', 'Whether the object is valid.', 1),
    condition('Servable', 'Whether a request can be served.', 1),
    // A text, because `kubectl` shows a date as the time since then, which means nothing for a future date.
    column('Retires', '.status.retireAt', 'Retirement date.', { priority: 1 }),
    messageOf('Accepted', 'Problem', 'The object’s problem.'),
    messageOf('Listed', 'Listing', 'Why it is not listed.'),
    age,
  ],
  selectable: ['.spec.id', '.spec.ownedBy'],
};

/** Every custom resource that Weir has. */
export const customResources: readonly CustomResource[] = [backend, model, ...accountResources];

/** A schema in the OpenAPI 3.0 of a CRD, as zod writes it. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly anyOf?: readonly OpenApiSchema[];
  readonly [keyword: string]: unknown;
}

/**
 * The OpenAPI schema of a spec or status for authors: it has the defaults, and no field with a default is required. The
 * schema is structural (in Kubernetes' words: every value has one type) as long as the zod schema has no unions except
 * `intOrString`.
 */
export function openApiSchema(schema: z.ZodType): OpenApiSchema {
  return structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as OpenApiSchema);
}

/**
 * No field inside a list has a default, because a list that the API server adds to differs from its author's for ever: Argo CD would show
 * OutOfSync. Such a default is applied when the object is read.
 *
 * Unknown fields are refused by field validation and pruned, never by `additionalProperties`, which a structural schema
 * must not have. The default `{}` of a group is written out with the defaults of its fields, because the API server
 * checks the rules against the default as it is written. The bounds of a whole number and of a text are in one schema:
 * each applies only to values of its own type.
 */
function structural(
  { additionalProperties, propertyNames: _, properties, items, anyOf, ...all }: OpenApiSchema,
  place: 'in a list' | 'outside' = 'outside',
): OpenApiSchema {
  const { default: usual, ...others } = all;
  const rest: OpenApiSchema = usual === undefined || place === 'in a list' ? others : all;
  if (rest[intOrStringKey] === true) {
    return (anyOf ?? []).reduce<OpenApiSchema>(
      (merged, { type: _type, ...bounds }) => ({ ...bounds, ...merged }),
      rest,
    );
  }
  const schema: OpenApiSchema = {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [name, structural(value, place)]),
      ),
    }),
    ...(items && { items: structural(items, 'in a list') }),
    // A map of texts, such as labels.
    ...(isObject(additionalProperties) && { additionalProperties }),
  };
  return isObject(rest['default']) ? { ...schema, default: filled(schema, rest['default']) } : schema;
}

/** The value of a group, with defaults for the fields that it leaves out. */
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
          name: version,
          served: true,
          storage: true,
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
      spec: { ...openApiSchema(spec), description: 'The desired state.' },
      status: { ...openApiSchema(status), description: 'The observed state. Only the elected leader writes it.' },
    },
  };
}
