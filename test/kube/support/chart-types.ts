/** Schemas of an API server, as far as values of the chart are parts of Kubernetes objects. */

type Json = { readonly [key: string]: unknown };
type Definitions = Readonly<Record<string, Json>>;

/** Full names of the types that values have: those that they refer to come along. */
const wanted = [
  ...[
    'Affinity',
    'EnvFromSource',
    'EnvVar',
    'PodSecurityContext',
    'ResourceRequirements',
    'Toleration',
    'TopologySpreadConstraint',
  ].map((name) => `io.k8s.api.core.v1.${name}`),
  ...['Volume', 'VolumeMount'].map((name) => `io.k8s.api.core.v1.${name}`),
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior',
  'io.k8s.api.networking.v1.NetworkPolicyPeer',
];

/** Types that JSON has no name for, and one whose fields the API server does not describe. */
const scalars: Readonly<Record<string, Json>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'string' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': { type: 'object' },
};

const shortName = (full: string): string => full.split('.').at(-1) ?? full;
const prefix = '#/definitions/';

/** The wanted types under their short names, without descriptions. Throws where two types would have one name. */
export function chartTypes(definitions: Definitions): Readonly<Record<string, Json>> {
  const fullNames = new Map<string, string>();
  const types = new Map<string, Json>();
  const take = (full: string): void => {
    const name = shortName(full);
    if (fullNames.get(name) === full) return;
    if (fullNames.has(name)) throw new Error(`two types are called ${name}`);
    fullNames.set(name, full);
    const schema = scalars[full] ?? definitions[full];
    if (schema === undefined) throw new Error(`the API server does not describe ${full}`);
    types.set(name, simple(schema, take));
  };
  wanted.forEach(take);
  return Object.fromEntries([...types].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A schema in as few words as say the same about the form of a value. */
function simple(schema: Json, take: (full: string) => void): Json {
  const { $ref: reference, type, properties, required, items, additionalProperties: others } = schema;
  if (typeof reference === 'string') {
    const full = reference.slice(prefix.length);
    take(full);
    return { $ref: prefix + shortName(full) };
  }
  const inner = (value: unknown): Json => simple(value as Json, take);
  return {
    type,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties as Json).map(([name, value]) => [name, inner(value)]),
          ),
        }),
    ...(required === undefined ? {} : { required }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(others === undefined ? {} : { additionalProperties: inner(others) }),
  };
}
