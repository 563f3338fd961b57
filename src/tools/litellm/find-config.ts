/** Finds the configuration of a LiteLLM proxy in a file: by itself, in values of Helm, or in a ConfigMap. */
import { parseAllDocuments } from 'yaml';
import { isObject } from '../../core/json.ts';
import type { Remark } from './left-out.ts';

interface FoundConfig {
  readonly config: unknown;
  /** What is around the configuration, and has no counterpart. */
  readonly around: readonly Remark[];
}

/** Deepest place of a configuration: `spec.values.litellm.proxy_config` of a HelmRelease in a list. */
const maxDepth = 8;

/** The first configuration in the documents of a text. Without one, the first document, so that reading it says what is missing. */
export function findConfig(text: string): FoundConfig {
  const documents = parseYaml(text);
  for (const [index, document] of documents.entries()) {
    const found = configIn(document, [], maxDepth);
    if (found === undefined) continue;
    const others = documents.filter((other, at) => at !== index && other !== null);
    return {
      config: found.config,
      around: [
        ...besides(document, found.path),
        ...others.map((other) => ({ path: nameOf(other), text: 'no configuration of the proxy' })),
      ],
    };
  }
  return { config: documents[0], around: [] };
}

/** LiteLLM reads YAML 1.1: `yes` is true, `1_000` a number, and `<<` merges. A document that is none throws its first error. */
function parseYaml(text: string): readonly unknown[] {
  return parseAllDocuments(text, { version: '1.1', merge: true }).map((document): unknown => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  });
}

interface Place {
  readonly config: unknown;
  readonly path: readonly string[];
}

function configIn(value: unknown, path: readonly string[], depth: number): Place | undefined {
  if (depth === 0) return undefined;
  if (typeof value === 'string') return value.includes('model_list') ? configInText(value, path, depth) : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (isObject(value) && Array.isArray(value['model_list'])) return { config: value, path };
  for (const [key, inner] of Object.entries(value)) {
    const found = configIn(inner, [...path, key], depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function configInText(text: string, path: readonly string[], depth: number): Place | undefined {
  try {
    return parseYaml(text)
      .map((document) => configIn(document, path, depth - 1))
      .find((found) => found !== undefined);
  } catch {
    return undefined;
  }
}

/** Every key beside the path to the configuration, on each of its levels. */
function besides(document: unknown, path: readonly string[]): readonly Remark[] {
  const remarks: Remark[] = [];
  let level = document;
  for (const [depth, key] of path.entries()) {
    if (typeof level !== 'object' || level === null) break;
    for (const other of Object.keys(level)) {
      const at = [...path.slice(0, depth), other].join('.');
      if (other !== key && !/^(apiVersion|kind|metadata)$/.test(at)) remarks.push({ path: at, text: aroundText });
    }
    level = Reflect.get(level, key);
  }
  return remarks;
}

const aroundText = 'a setting around the configuration; those of Weir are in charts/weir/README.md';

function nameOf(document: unknown): string {
  if (!isObject(document)) return 'a document';
  const { kind, metadata } = document;
  const name = isObject(metadata) ? metadata['name'] : undefined;
  return typeof kind === 'string' && typeof name === 'string'
    ? `${kind}/${name}`
    : (Object.keys(document)[0] ?? 'a document');
}
