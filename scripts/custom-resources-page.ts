import {
  category,
  customResources,
  group,
  type OpenApiSchema,
  openApiSchema,
  version,
} from './custom-resources/custom-resources.ts';
import type { CustomResource } from './custom-resources/printer-columns.ts';
import { intOrStringKey } from '../src/control/catalog/resources/fields.ts';
import { isParameter, parameterNames } from '../src/core/parameters.ts';
import { markdownTable } from './markdown-table.ts';

const code = (text: string): string => `\`${text}\``;
const json = (value: unknown): string => code(JSON.stringify(value));
/** Outside of code a reader's browser would take `<org>` for a tag. */
const prose = (text: string): string => text.replaceAll('<', '&lt;');

interface Field {
  readonly path: string;
  readonly schema: OpenApiSchema;
  readonly isRequired: boolean;
}

/** Every field below a schema, groups before what is in them. `[]` stands for every entry of a list. */
function* fieldsOf({ properties = {}, required = [] }: OpenApiSchema, path = ''): Generator<Field> {
  for (const [name, schema] of Object.entries(properties)) {
    const here = path === '' ? name : `${path}.${name}`;
    yield { path: here, schema, isRequired: required.includes(name) };
    yield* fieldsOf(schema, here);
    if (schema.items?.properties) yield* fieldsOf(schema.items, `${here}[]`);
  }
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly unknown[];
}

const between = (least: number | undefined, most: number | undefined): string =>
  least === undefined || least === 0 ? `at most ${most}` : `${least} to ${most}`;

/** The choices of a field. All names of parameters together are a link to the page that lists them. */
function oneOf(values: readonly unknown[]): string {
  const others = values.filter((value) => !isParameter(String(value))).map((value) => code(String(value)));
  const hasEveryParameter = values.length - others.length === parameterNames.length;
  if (!hasEveryParameter) return values.map((value) => code(String(value))).join(', ');
  return ['[parameters](parameters.md#sampling)', ...others].join(', ');
}

/** A list that has room for all of its choices needs no number. */
function listInWords(items: OpenApiSchema, bounds: string): string {
  if (items.properties) return `list of ${bounds}`;
  const { enum: choices } = items as Bounds;
  const hasRoomForAll = choices !== undefined && bounds === between(undefined, choices.length);
  return hasRoomForAll ? `list of: ${taken(items)}` : `list of ${bounds} of: ${taken(items)}`;
}

/** What a field takes, in words. */
function taken(schema: OpenApiSchema): string {
  const { type = 'anything', format, items = {} } = schema;
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, enum: values } = schema as Bounds;
  if (values) return oneOf(values);
  if (format === 'date-time') return 'date and time, RFC 3339';
  const shape = shapeOf(schema);
  if (schema[intOrStringKey] === true && shape !== undefined) return prose(shape);
  const words: Readonly<Record<string, string>> = {
    string: `${shape === undefined ? 'text' : prose(shape)}; ${between(minLength, maxLength)} characters`,
    number: `number, ${schema['exclusiveMinimum'] === true ? `above ${minimum}, at most ${maximum}` : between(minimum, maximum)}`,
    integer: maximum === Number.MAX_SAFE_INTEGER ? 'whole number' : `whole number, ${between(minimum, maximum)}`,
    array: type === 'array' ? listInWords(items, between(minItems, maxItems)) : '',
    object: 'group',
    boolean: '`true`, `false`',
  };
  return words[type] ?? type;
}

interface ShownRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

const rulesOf = (schema: OpenApiSchema): readonly ShownRule[] =>
  (schema['x-kubernetes-validations'] ?? []) as readonly ShownRule[];

/** The rule that says a pattern in words. */
const isShape = ({ rule }: ShownRule): boolean => /^(type\(self\) == int \? .*: )?self\.matches\(/.test(rule);

function shapeOf(schema: OpenApiSchema): string | undefined {
  return rulesOf(schema)
    .find(isShape)
    ?.message.replace(/^expected /, '');
}

function presence({ schema, isRequired }: Field): string {
  if (isRequired) return 'required';
  return schema.type !== 'object' && 'default' in schema ? json(schema['default']) : '–';
}

const fieldTable = (schema: OpenApiSchema): string =>
  markdownTable(
    ['field', 'takes', 'default', 'meaning', 'example'],
    [...fieldsOf(schema)].map((field) => [
      code(field.path),
      taken(field.schema),
      presence(field),
      prose(field.schema.description ?? ''),
      'example' in field.schema ? json(field.schema['example']) : '',
    ]),
  );

/** The rules over more than one field, and those over time. Empty if there are none. */
function moreRules(schema: OpenApiSchema): string {
  const places = [
    { path: '', schema },
    ...[...fieldsOf(schema)].flatMap(({ path, schema: at }) => [
      { path, schema: at },
      ...(at.items?.properties ? [{ path: `${path}[]`, schema: at.items }] : []),
    ]),
  ];
  const rows = places.flatMap(({ path, schema: at }) =>
    rulesOf(at)
      .filter((rule) => !isShape(rule) && at['format'] !== 'date-time')
      .map(({ fieldPath = '', message }) => [code(`${path}${fieldPath}`.replace(/^\./, '')), message]),
  );
  return rows.length === 0 ? '' : `\nMore rules:\n\n${markdownTable(['field', 'rule'], rows)}\n`;
}

const kindSection = ({ kind, plural, shortNames, description, ...resource }: CustomResource): string => `## ${kind}

${description}

List them with \`kubectl get ${plural}\`, short \`${shortNames.join('`, `')}\`. Select with \`--field-selector\` by ${resource.selectable
  .map((path) => code(path.slice(1)))
  .join(', ')}.

### ${kind}: spec

${fieldTable(openApiSchema(resource.spec))}
${moreRules(openApiSchema(resource.spec))}
### ${kind}: status

${markdownTable(
  ['condition', 'True means'],
  Object.entries(resource.conditions).map(([type, meaning]) => [code(type), meaning]),
)}

${fieldTable(openApiSchema(resource.status))}

### ${kind}: columns of kubectl get

${markdownTable(
  ['column', 'field', 'meaning'],
  resource.columns.map(({ name, jsonPath, priority, description: meaning }) => [
    name,
    code(jsonPath),
    priority === 1 ? `${meaning} Only with \`-o wide\`.` : meaning,
  ]),
)}
`;

const example = `\`\`\`yaml
apiVersion: ${group}/${version}
kind: Backend
metadata: {name: vllm-a}
spec:
  engine: vllm
  service: {name: vllm-a, port: https}
  tls: {mode: Custom, caSecretRef: {name: vllm-a, key: ca.crt}, serverName: vllm-a.models.svc}
  credentials: {secretRef: {name: vllm-a, key: token}}
  capacity: {maxConcurrentRequests: 64}
  healthCheck: {path: /health}
---
apiVersion: ${group}/${version}
kind: Model
metadata: {name: qwen3-8b}
spec:
  id: qwen/qwen3-8b
  aliases: [gpt-4o]
  ownedBy: qwen
  added: "2026-06-01T00:00:00Z"
  contextLength: 40960
  pricing: {prompt: "0.00000015", completion: "0.0000006", inputCacheRead: "0.00000003"}
  reasoning: {mode: Optional, efforts: [low, medium, high]}
  tokenizer: {path: qwen3-8b}
  serviceLevel: {minAvailability: "0.99"}
  hedging: {mode: Disabled}
  routes:
  - {backend: vllm-a, upstreamModel: Qwen/Qwen3-8B}
\`\`\``;

/** The reference of the custom resources: docs/reference/custom-resources.md. */
export const customResourcesPage =
  (): string => `<!-- Generated by \`npm run generate\` from src/control/catalog/resources and scripts/custom-resources. Change the sources instead. -->
# Custom resources

Weir has ${customResources.length} kinds. The catalog contains Models, which callers name, and Backends, which serve them. The accounts are a
Workspace, which pays, an ApiKey, a Credit ([accounts-in-git.md](../how-to/accounts-in-git.md)) and an
[Identity](../how-to/identities.md). All are namespaced, in the group
\`${group}\`, version \`${version}\`. A gateway reads one namespace, including the Secrets and ConfigMaps that its Backends name.
A manifest folder (\`--manifests\`) contains the same objects with the same rules. One field is different: \`service\` needs a
cluster ([kubernetes.md](../how-to/kubernetes.md#serving-pods)).

\`\`\`sh
kubectl apply -f models.yaml          # refuses mistakes, with the field and the expected value
kubectl get ${category}                      # every object of every kind
kubectl get models -o wide            # with the problem of each
kubectl explain model.spec.routes     # this page, in the terminal
\`\`\`

${example}

[examples/kubernetes/hosted.yaml](../../examples/kubernetes/hosted.yaml) shows the fields for providers and for company
networks: credentials in other headers, a query, client certificates, a forward proxy, silence limits, defaults.

- Quote prices, so that no YAML reader rounds them.
- kubectl refuses an unknown field by default (\`--validate=strict\`). Without this option, the API server drops the field
  silently.
- A field without a value (\`tls:\`) means the same as a missing field.
- Fields inside lists have no defaults at the API server, so it stores a list as applied, and Argo CD shows no
  difference.
- A Backend never replaces a caller's value: \`requests.defaults\` fill absent fields, and
  \`requests.bounds\` only lower a value. Weir refuses headers that HTTP or Weir sets itself.
- A server-side apply merges \`routes\` by \`backend\`, so two field managers can each own some routes.
- An invalid object affects no other object, and Weir continues to use its last good version. The API server cannot find some mistakes: a
  missing Backend, Secret or ConfigMap, an id that is in use. The conditions report them.
- A Model leaves with 14 days' notice, by \`retireAt\` or by deletion. The annotation \`${group}/waive-notice: "true"\`
  removes the notice. In a manifest folder \`retireAt\` works in the same way: \`announcements.json\` in the data folder
  contains the time when Weir first read it. If you delete a Model's file, the Model leaves at once.

${customResources.map(kindSection).join('\n')}`;
