import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { compile } from '../../../src/control/catalog/compile.ts';
import {
  customResources,
  openApiSchema,
  type OpenApiSchema,
} from '../../../scripts/custom-resources/custom-resources.ts';
import type { CatalogObject } from '../../../src/core/catalog.ts';
import { isObject } from '../../../src/core/json.ts';
import { problemLine } from '../../../src/control/reconcilers/check-manifests.ts';
import { referredSecrets } from '../../../src/control/catalog/secrets.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { configMap, goodBackendSpec, goodModelSpec, secret } from '../../support/catalog-objects.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What is wrong with YAML of ours, a sentence each. */
export interface FormChecks {
  /** Manifests, parts of them, and values of the chart. */
  readonly yaml: (text: string) => readonly string[];
  /** A field with a value, inside a sentence. Undefined: no schema of ours has such a field. */
  readonly field: (text: string) => readonly string[] | undefined;
  /** A value of the chart, as `--set` gives it. */
  readonly value: (path: string, value: string) => readonly string[];
}

/** The apiVersion of objects that are not ours and stand on the pages. */
const foreignVersions =
  /^(?:v1|apps\/v1|autoscaling\/v2|keda\.sh\/v1alpha1|rbac\.authorization\.k8s\.io\/v1|inference\.networking\.k8s\.io\/v1|gateway\.envoyproxy\.io\/.*)$/;

export function createFormChecks(root: string): FormChecks {
  const chart = (file: string): string => readFileSync(join(root, 'charts', 'weir', file), 'utf8');
  const valuesSchema = JSON.parse(chart('values.schema.json')) as OpenApiSchema & { readonly definitions: object };
  const initialValues = parse(chart('values.yaml')) as Fields;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  const checkValues = ajv.compile(valuesSchema);
  const specs = customResources.map(({ kind, spec }) => ({ kind, schema: openApiSchema(spec) }));

  function valuesProblems(values: Fields): readonly string[] {
    if (checkValues(merged(initialValues, values))) return [];
    return (checkValues.errors ?? []).map(
      ({ instancePath, message, params }) => `chart value ${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }

  function documentProblems(value: unknown): readonly string[] {
    if (!isObject(value)) return ['the document is no map'];
    const { apiVersion, kind, spec } = value;
    if (typeof apiVersion === 'string' && foreignVersions.test(apiVersion)) return [];
    if (apiVersion !== undefined) return [`there is no apiVersion ${JSON.stringify(apiVersion)}`];
    if (kind === 'Model' || kind === 'Backend') return partProblems(kind, spec);
    const names = Object.keys(value);
    const has = ({ properties = {} }: OpenApiSchema): boolean => names.every((name) => name in properties);
    if (has(valuesSchema)) return valuesProblems(value);
    const of = specs.find(({ schema }) => has(schema));
    return of === undefined ? [`no schema has all of ${names.join(', ')}`] : partProblems(of.kind, value);
  }

  function field(text: string): readonly string[] | undefined {
    const [, path = '', given = ''] = /^([A-Za-z][\w.]*): ([^]+)$/.exec(text) ?? [];
    const found =
      path === ''
        ? []
        : [...specs.map(({ schema }) => schema), valuesSchema].flatMap((schema) => [
            ...fieldsNamed(schema, path.split('.')),
          ]);
    if (found.length === 0 || given.includes('…')) return undefined;
    const value = parse(given) as unknown;
    // Parts of the chart's values refer to them.
    const { definitions } = valuesSchema;
    return found.some((schema) => ajv.validate({ ...closed(schema), definitions }, withoutNulls(value)))
      ? []
      : [`no schema takes ${path}: ${JSON.stringify(value)}`];
  }

  return {
    field,
    value: (path, value) => valuesProblems(nested(path.split('.'), parse(value))),
    yaml: (text) => {
      const documents = [...parseAllDocuments(text)];
      const errors = documents.flatMap((document) => document.errors.map(({ message }) => message));
      if (errors.length > 0 || documents.length === 0)
        return [...errors, ...(documents.length === 0 ? ['is empty'] : [])];
      const values = documents.map((document): unknown => document.toJS());
      const isOurs = (value: unknown): boolean =>
        isObject(value) && String(value['apiVersion']).startsWith('weir.dev/');
      // A line that is commented out is another way to say the line before it.
      const others = [...text.matchAll(/^# (\w+: [[{].*?)(?: +#.*)?$/gm)];
      return [
        ...objectProblems(values.filter(isOurs)),
        ...values.filter((value) => !isOurs(value)).flatMap(documentProblems),
        ...others.flatMap(([, line = '']) => field(line) ?? [`no schema has the field of "${line}"`]),
      ];
    },
  };
}

const certificate = '-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n';

/** A spec of which the example shows a part: what is missing is good. */
function partProblems(kind: string, spec: unknown): readonly string[] {
  if (!isObject(spec)) return [`${kind}: spec is no map`];
  const isPlaced = ['endpoint', 'endpoints', 'service', 'inferencePool'].some((name) => name in spec);
  const rest = kind === 'Model' ? goodModelSpec : isPlaced ? { engine: 'vllm' } : goodBackendSpec;
  const whole = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'part' }, spec: { ...rest, ...spec } };
  return objectProblems([whole], { references: 'elsewhere' });
}

/** A value that fits wherever a page refers to a key with this name. */
function sampleValue(key: string): string {
  if (key === 'tls.crt') return selfSigned.certificate;
  if (key === 'tls.key') return selfSigned.key;
  return key.endsWith('.crt') ? certificate : 'user:word';
}

/** The problems of objects, as the catalog has them. A Secret is the cluster's: the one that an object needs is there. */
function objectProblems(
  values: readonly unknown[],
  { references }: { readonly references: 'here' | 'elsewhere' } = { references: 'here' },
): readonly string[] {
  const objects = values.map((value, at): CatalogObject => ({ where: `object ${at + 1}`, value }));
  const secrets = [...referredSecrets(objects)].map(([place, keys]) => {
    const [kind, name = ''] = place.split('/');
    const values = Object.fromEntries([...keys].map((key) => [key, sampleValue(key)]));
    return kind === 'Secret' ? secret(name, { stringData: values }) : configMap(name, values);
  });
  return [...compile([...objects, ...secrets]).results.values()]
    .flatMap(({ problems }) => problems)
    .filter(({ cause }) => cause !== 'reference' || references === 'here')
    .map(({ problem }) => problemLine(problem));
}

/** The schemas of a field, wherever a schema has it: `tls.mode` is `mode` of every `tls`. */
function* fieldsNamed(schema: OpenApiSchema, path: readonly string[]): Generator<OpenApiSchema> {
  const found = path.reduce<OpenApiSchema | undefined>((inner, name) => inner?.properties?.[name], schema);
  if (found !== undefined) yield found;
  for (const inner of Object.values(schema.properties ?? {})) yield* fieldsNamed(inner, path);
  if (schema.items !== undefined) yield* fieldsNamed(schema.items, path);
}

/** A part of a form: its required fields may be left out, and unknown ones may not be there. */
function closed(schema: OpenApiSchema): OpenApiSchema {
  const { required: _, properties, items, ...rest } = schema;
  return {
    ...rest,
    ...(items && { items: closed(items) }),
    ...(properties && {
      additionalProperties: false,
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)])),
    }),
  };
}

/** `{host, port}` names fields without values. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (inner === null ? [] : [[name, withoutNulls(inner)]])),
  );
}

function merged(under: Fields, over: Fields): Fields {
  const both = Object.entries(over).map(([name, value]) => {
    const below = under[name];
    return [name, isObject(value) && isObject(below) ? merged(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(both) };
}

const nested = ([name = '', ...rest]: readonly string[], value: unknown): Fields => ({
  [name]: rest.length === 0 ? value : nested(rest, value),
});
