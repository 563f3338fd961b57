import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { modelAliases } from '../../control/catalog/resources/model.ts';
import type { EngineModel } from '../../core/model-list.ts';
import { contextLengthOf, type ProbedEngine } from './upstream.ts';
import { modalities } from '../../core/catalog.ts';

/** USD per token, as decimal strings for the manifest. */
export interface UpstreamPrice {
  readonly prompt: string;
  readonly completion: string;
}

const apiVersion = 'weir.dev/v1alpha1';
/** Name of the Backend and of the Secret. */
const upstreamName = 'upstream';
const note = '# Written by `weir start --upstream` at each start. To keep changes, copy it and use --manifests.\n';

interface UpstreamCatalog {
  readonly folder: string;
  readonly key: string | undefined;
  readonly price: UpstreamPrice;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** A model of an upstream, and its name here. */
export interface NamedEntry {
  readonly entry: EngineModel;
  readonly id: string;
  /** The upstream's own name in lower case, if it is not the id and can be an alias. */
  readonly alias: string | undefined;
}

/**
 * Writes the Backend and one Model per entry into the folder. The key goes into a separate file that only its owner may
 * read. Resolves with the names of the models.
 */
export async function writeUpstreamManifests(
  upstream: ProbedEngine,
  catalog: UpstreamCatalog,
): Promise<readonly NamedEntry[]> {
  const { folder, key } = catalog;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const file of readdirSync(folder)) if (file.endsWith('.yaml')) rmSync(join(folder, file));
  const models = catalogNames(upstream.entries);
  const files: readonly (readonly [string, readonly unknown[]])[] = [
    ...(key === undefined ? [] : [['secret.yaml', [secretObject(key)]] as const]),
    ['backend.yaml', [await backendObject(upstream, key !== undefined)]],
    ['models.yaml', modelObjects(models, catalog)],
  ];
  for (const [file, objects] of files) {
    const text = objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');
    writeFileSync(join(folder, file), note + text, { mode: 0o600 });
  }
  return models;
}

function secretObject(token: string): unknown {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: upstreamName }, stringData: { token } };
}

async function backendObject({ engine, base }: ProbedEngine, hasKey: boolean): Promise<unknown> {
  const isTls = base.protocol === 'https:';
  const port = base.port === '' ? (isTls ? 443 : 80) : Number(base.port);
  const path = base.pathname.replace(/\/+$/, '');
  return {
    apiVersion,
    kind: 'Backend',
    metadata: { name: upstreamName },
    spec: {
      engine,
      endpoint: { host: await reachableHost(base.hostname, port), port, path },
      tls: { mode: isTls ? 'System' : 'Disabled' },
      ...(hasKey ? { credentials: { secretRef: { name: upstreamName, key: 'token' } } } : {}),
    },
  };
}

function modelObjects(models: readonly NamedEntry[], { price, now }: UpstreamCatalog): readonly unknown[] {
  const names = new Set<string>();
  return models.map(({ entry, id, alias }) => {
    const hasImages = entry.architecture?.input_modalities?.includes('image') === true;
    return {
      apiVersion,
      kind: 'Model',
      metadata: { name: objectName(id, names) },
      spec: {
        id,
        ...(alias === undefined ? {} : { aliases: [alias] }),
        // Not the engine's own `owned_by`: "llamacpp" or "library" would show callers what serves them.
        ownedBy: id.slice(0, id.indexOf('/')),
        added: new Date(addedAt(entry, now)).toISOString(),
        contextLength: contextLengthOf(entry),
        inputModalities: hasImages ? modalities : ['text'],
        pricing: { prompt: price.prompt, completion: price.completion },
        routes: [{ backend: upstreamName, upstreamModel: entry.id }],
      },
    };
  });
}

/**
 * Makes an id for every model of an upstream. The upstream's name becomes an alias, so that callers who used that name
 * need not change it.
 */
export function catalogNames(entries: readonly EngineModel[]): readonly NamedEntry[] {
  const ids = new Set<string>();
  const named = entries.map((entry) => {
    const id = catalogIdOf(entry.id, ids);
    ids.add(id);
    return { entry, id };
  });
  const aliases = new Set<string>();
  return named.map(({ entry, id }) => {
    const own = entry.id.toLowerCase();
    const isFree = !ids.has(own) && !aliases.has(own) && modelAliases.safeParse([own]).success;
    if (isFree) aliases.add(own);
    return { entry, id, alias: isFree ? own : undefined };
  });
}

/** The moment that the engine reports, or else `now`: an engine can report 0, or a date in the future. */
function addedAt({ created }: EngineModel, now: number): number {
  const stated = (created ?? 0) * 1000;
  return stated > Date.UTC(2020) && stated <= now ? stated : now;
}

/**
 * A name for the object that is allowed by Kubernetes (RFC 1123) and is not used by an earlier object. The name is
 * added to `used`.
 */
function objectName(id: string, used: Set<string>): string {
  const wanted = id.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');
  const free =
    [wanted, ...Array.from(used, (_, index) => `${wanted}-${index + 2}`)].find((name) => !used.has(name)) ?? wanted;
  used.add(free);
  return free;
}

/** `localhost` can mean 127.0.0.1 or ::1, and Envoy would choose one by itself. The manifest gets the address that answers. */
async function reachableHost(host: string, port: number): Promise<string> {
  if (host !== 'localhost') return host.replace(/^\[(.*)\]$/, '$1');
  return (await accepts('127.0.0.1', port)) ? '127.0.0.1' : '::1';
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const maxPartLength = 60;

/**
 * A catalog id, lowercase `<org>/<model>`, for an engine's name of a model; `local/…` if the name has no owner. A path
 * becomes its base name. An id that another model has gets a number.
 */
export function catalogIdOf(upstreamModel: string, used: ReadonlySet<string>): string {
  const [org, model] = split(upstreamModel);
  const wanted = `${clean(org) || 'local'}/${clean(model) || 'model'}`;
  if (!used.has(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    if (!used.has(`${wanted}-${number}`)) return `${wanted}-${number}`;
  }
}

function split(name: string): readonly [org: string, model: string] {
  const isFile = /^([./~\\]|[A-Za-z]:\\)/.test(name) || /\.(gguf|ggml|bin|safetensors)$/i.test(name);
  if (isFile) return ['local', baseName(name)];
  // Fireworks: accounts/<org>/models/<model>. Hugging Face addresses, as Ollama has them: hf.co/<org>/<model>.
  const short = name.replace(/^accounts\/([^/]+)\/models\//, '$1/').replace(/^(hf\.co|huggingface\.co)\//, '');
  const slash = short.indexOf('/');
  return slash < 1 ? ['local', short] : [short.slice(0, slash), short.slice(slash + 1)];
}

function baseName(path: string): string {
  const last = path.split(/[/\\]/).findLast((part) => part !== '') ?? path;
  return last.replace(/\.(gguf|ggml|bin|safetensors)$/i, '');
}

/**
 * Keeps the characters that the catalog's pattern allows. A tag after a colon must not look like a variant, so it
 * becomes part of the name.
 */
function clean(part: string): string {
  return part
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, maxPartLength)
    .replace(/[^a-z0-9]+$/, '');
}
