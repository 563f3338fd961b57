/** Turns the configuration of a LiteLLM proxy into Backends and Models. */
import { convertedFallbacks, withFallbacks } from './fallbacks.ts';
import { leftOutOf, type Remark } from './left-out.ts';
import { makeUpstream, type SecretReference, slug } from './make-backend.ts';
import { modelFacts, type Placed } from './model-facts.ts';
import { readConfig } from './read-config.ts';

export interface Conversion {
  readonly objects: readonly object[];
  /** The Secrets that the Backends name. Their values are not copied. */
  readonly secrets: readonly SecretReference[];
  /** Facts that the configuration does not have, each with the assumption made. */
  readonly assumed: readonly Remark[];
  readonly leftOut: readonly Remark[];
}

const maxWeight = 1_000_000;
const apiVersion = 'weir.dev/v1alpha1';

/** `added`: when the Models join the catalog. Throws if the value is no configuration of LiteLLM, or no deployment can be served. */
export function convertConfig(value: unknown, added: string): Conversion {
  const config = readConfig(value);
  const assumed: Remark[] = [];
  const dropped = new Map<number, string>();
  const own = config.model_list.flatMap((deployment, index): readonly Placed[] => {
    const made = deployment.model_name.includes('*')
      ? 'a Model names one model; write one entry for each'
      : makeUpstream(deployment);
    if (typeof made !== 'string') return [{ index, deployment, upstream: made, isFallback: false }];
    dropped.set(index, made);
    return [];
  });
  if (own.length === 0)
    throw new Error(`nothing in model_list can be served: ${[...dropped.values()][0] ?? 'it is empty'}`);

  for (const { index, upstream } of own) {
    if (upstream.missingKey !== undefined)
      assumed.push({
        path: `model_list[${index}].litellm_params.api_key`,
        text: `missing; LiteLLM sends ${upstream.missingKey}. If the address needs it, add credentials`,
      });
  }
  const placed = withFallbacks(own, config);
  const { model_group_alias: aliases } = config.router_settings;
  const backends = nameBackends(placed);
  const names = new Set<string>();
  const ids = new Set<string>();
  /** Which `model_name` has an alias. */
  const owners = new Map<string, string>();
  const groups = Map.groupBy(placed, ({ deployment }) => deployment.model_name);
  const idOfGroup = new Map([...groups].map(([name, members]) => [name, unique(idOf(name, members), ids)]));
  const models = [...groups].map(([name, members]) => {
    const id = idOfGroup.get(name) ?? '';
    const paths = [[name, `model_list[${members[0]?.index ?? 0}].model_name`], ...aliasesOf(aliases, name)] as const;
    const others = paths.flatMap(([alias, path]) => {
      const text = aliasText(alias);
      if (text !== alias) assumed.push({ path, text: `callers write ${text}${text === id ? '' : ` or ${id}`}` });
      if (text !== id && ids.has(text)) {
        assumed.push({ path, text: `${text} is the id of another Model; callers of this one write ${id}` });
        return [];
      }
      const owner = owners.getOrInsertComputed(text, () => name);
      if (owner === name) return [text];
      assumed.push({ path, text: `${text} leads to ${owner} already; callers of this one write ${id}` });
      return [];
    });
    return {
      apiVersion,
      kind: 'Model',
      metadata: { name: unique(slug(name) || 'model', names) },
      spec: {
        id,
        aliases: otherNames(others, { id, path: paths[0][1], assumed }),
        ...modelFacts(members, assumed),
        ownedBy: id.split('/')[0],
        added,
        routes: routesOf(members, backends),
      },
    };
  });
  const fallbacks = convertedFallbacks(config, new Set(groups.keys()));
  const secrets = new Map(
    placed.flatMap(({ upstream }) => upstream.secrets.map((secret) => [secret.name, secret] as const)),
  );
  return {
    objects: [...new Set(backends.values().map(({ object }) => object)), ...models],
    secrets: [...secrets.values()],
    assumed,
    leftOut: [
      ...[...dropped].map(([index, text]) => ({ path: `model_list[${index}]`, text })),
      ...Object.entries(aliases)
        .filter(([, target]) => ![...groups.keys()].some((name) => name === groupOf(target)))
        .map(([alias]) => ({ path: `router_settings.model_group_alias.${alias}`, text: 'its model is not converted' })),
      ...leftOutOf(value, new Set(dropped.keys())).filter(({ path }) => !fallbacks.has(path)),
    ],
  };
}

interface NamedBackend {
  readonly name: string;
  readonly object: object;
}

/** Deployments with the same address share a Backend, unless one Model would have it twice for two upstream models. */
function nameBackends(placed: readonly Placed[]): ReadonlyMap<Placed, NamedBackend> {
  const names = new Set<string>();
  const shared = new Map<string, NamedBackend>();
  const taken = new Map<string, string>();
  return new Map(
    placed.map((one) => {
      const { upstream, deployment } = one;
      for (let copy = 0; ; copy += 1) {
        const key = `${copy} ${JSON.stringify(upstream.spec)}`;
        const place = `${deployment.model_name} ${key}`;
        if ((taken.get(place) ?? upstream.model) !== upstream.model) continue;
        taken.set(place, upstream.model);
        const known = shared.get(key);
        if (known !== undefined) return [one, known];
        const name = unique(slug(upstream.host) || 'backend', names);
        const made = { name, object: { apiVersion, kind: 'Backend', metadata: { name }, spec: upstream.spec } };
        shared.set(key, made);
        return [one, made];
      }
    }),
  );
}

function routesOf(members: readonly Placed[], backends: ReadonlyMap<Placed, NamedBackend>): readonly object[] {
  const weights = weightsOf(members);
  const routes = members.map((one, index) => ({
    backend: backends.get(one)?.name ?? '',
    upstreamModel: one.upstream.model,
    weight: weights[index] ?? 100,
    capabilities: one.deployment.model_info.supports_function_calling === false ? { tools: false } : undefined,
  }));
  // Equal deployments of one name are one route with the sum of their weights.
  return [...Map.groupBy(routes, ({ backend }) => backend).values()].flatMap((same) => {
    const weight = same.reduce((sum, route) => sum + route.weight, 0);
    return same.slice(0, 1).map((route) => ({ ...route, weight: Math.min(maxWeight, weight) }));
  });
}

/** As LiteLLM shuffles: by weight, else by rpm, else by tpm, else equally. Without a weight among weights, or with a later `order`: a standby. */
function weightsOf(members: readonly Placed[]): readonly number[] {
  const own = members.filter(({ isFallback }) => !isFallback);
  const params = own.map(({ deployment }) => deployment.litellm_params);
  const isWeighted = params.some((one) => (one.weight ?? 0) > 0);
  const limit = (['rpm', 'tpm'] as const).find((field) => params.every((one) => (one[field] ?? 0) > 0));
  const field = isWeighted ? 'weight' : limit;
  const shares = params.map((one) => (field === undefined ? 1 : (one[field] ?? 0)));
  const most = Math.max(...shares);
  const scale = shares.every(Number.isInteger) && most <= maxWeight ? (field === undefined ? 100 : 1) : 1000 / most;
  const first = Math.min(...params.map(({ order }) => order ?? 1));
  const weights = params.map(({ order }, index) =>
    (order ?? 1) > first || shares[index] === 0 ? 0 : Math.max(1, Math.round((shares[index] ?? 1) * scale)),
  );
  return members.map((one) => (one.isFallback ? 0 : (weights[own.indexOf(one)] ?? 0)));
}

function idOf(name: string, members: readonly Placed[]): string {
  const parts = name
    .split('/')
    .map(slugOfId)
    .filter((part) => part !== '');
  const [org, ...rest] = parts;
  if (org !== undefined && rest.length > 0) return `${org}/${rest.join('-')}`;
  const upstream = members[0]?.upstream;
  const [owner, model] = upstream?.model.split('/') ?? [];
  return `${slugOfId(model === undefined ? (upstream?.owner ?? 'models') : (owner ?? ''))}/${org ?? 'model'}`;
}

const slugOfId = (part: string): string =>
  part
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');

/** An alias may end in a tag, as in `qwen3:8b`, but not in that of a variant. */
function aliasText(name: string): string {
  const [, front = name, tag = ''] = /^([^:]+):([^:/]+)$/.exec(name) ?? [];
  const isTag = slugOfId(tag) !== '' && !/^(nitro|floor|free|online)$/i.test(tag);
  const parts = (isTag ? front : name).split('/').map(slugOfId);
  const text = parts.filter((part) => part !== '').join('/');
  return isTag && text !== '' ? `${text}:${slugOfId(tag)}` : text;
}

const maxAliases = 16;

function otherNames(
  names: readonly string[],
  { id, path, assumed }: { readonly id: string; readonly path: string; readonly assumed: Remark[] },
): readonly string[] | undefined {
  const others = [...new Set(names)].filter((alias) => alias !== id && alias !== '');
  for (const alias of others.slice(maxAliases))
    assumed.push({ path, text: `a Model has ${maxAliases} aliases at most; callers of ${alias} write ${id}` });
  return others.length === 0 ? undefined : others.slice(0, maxAliases);
}

/** LiteLLM writes `alias: group` or `alias: {model: group, hidden: true}`. */
function aliasesOf(
  all: Readonly<Record<string, unknown>>,
  group: string,
): readonly (readonly [alias: string, path: string])[] {
  return Object.entries(all).flatMap(([alias, target]) =>
    groupOf(target) === group ? [[alias, `router_settings.model_group_alias.${alias}`] as const] : [],
  );
}

const groupOf = (target: unknown): unknown =>
  typeof target === 'object' && target !== null && 'model' in target ? target.model : target;

function unique(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}-${number}`;
  taken.add(free);
  return free;
}
