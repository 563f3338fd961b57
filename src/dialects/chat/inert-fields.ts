import { isObject } from '../json.ts';

/**
 * Fields that other gateways act on and that we accept and ignore, so that their users can tell
 * (docs/reference/api.md §4.1). Any other unknown field is ignored without a word.
 */
export const inertNames: ReadonlySet<string> = new Set([
  'provider',
  'models',
  'transforms',
  'route',
  'plugins',
  'usage',
  'preset',
  'prediction',
  'modalities',
  'audio',
  'store',
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'verbosity',
  'web_search_options',
]);

/** Names of the inert fields that a body holds, in the order they stand there. */
export function inertFields(body: unknown): readonly string[] {
  return isObject(body) ? Object.keys(body).filter((name) => inertNames.has(name)) : [];
}
