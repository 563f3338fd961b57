import { isObject } from '../json.ts';

/**
 * Fields of this format that ask for something which no open model and no gateway of ours has: accepted and named in
 * `x-service-inert-params` (docs/reference/api.md §4.1). Any other unknown field is ignored without a word.
 */
const inertNames: ReadonlySet<string> = new Set([
  'service_tier',
  'container',
  'context_management',
  'mcp_servers',
  'inference_geo',
  'speed',
  'fallbacks',
  'fallback_credit_token',
  'billing_policy',
  'compaction',
  'diagnostics',
  'thread',
]);

/** Names of the inert fields that a body holds, in the order they stand there. */
export function inertFields(body: unknown): readonly string[] {
  return isObject(body) ? Object.keys(body).filter((name) => inertNames.has(name)) : [];
}
