import { causes } from '../../core/cause.ts';
import { type FailureCode, failures } from '../../core/failure.ts';
import type { ReasonReader } from './request-reason.ts';
import type { Story } from './story.ts';

/** What the caller or its team can do after a failure (docs/reference/errors.md). */
const failureActions: Readonly<Record<FailureCode, string>> = {
  not_found: 'Correct the path: the answer lists those of the API',
  unauthenticated: 'Send a key that exists and is neither revoked nor expired',
  insufficient_funds: 'Add credit to the workspace, or raise the key budget',
  suspended: 'Resume the workspace or the key',
  body_too_large: 'Send a smaller body',
  unsupported_encoding: 'Compress the body with gzip, br, zstd or deflate, or not at all',
  rate_limited: 'Wait for the time in Retry-After, or raise the key limits',
  invalid_request: 'Correct the request: the answer names the field',
  model_not_found: 'Name a model of the catalog that the key may call',
  variant_not_supported: 'Leave out the model suffix',
  web_search_name_reserved: 'Rename the tool web_search',
  web_search_unavailable: 'Leave out web search',
  modality_not_supported: 'Send text only, or choose a model that takes images',
  context_length_exceeded: 'Shorten the prompt, lower the output cap, or choose a model with a longer context',
  reasoning_not_disableable: 'Leave reasoning on, or choose another model',
  tools_not_supported: 'Leave out the tools, or choose another model',
  response_format_not_supported: 'Leave out response_format, or choose another model',
  param_not_supported: 'Leave out the parameter that the answer names',
  param_combination_not_supported: 'Leave out one of the parameters that the answer names',
  attempts_failed: 'Send it again: nothing was billed',
  no_capacity: 'Send it again later, or add endpoints to the model',
  overloaded: 'Send it again later, or add services',
  internal: 'Send it again later, and read the service log',
  stream_interrupted: 'Send it again, or let the model continue the part that came',
  upstream_incomplete: 'Send it again: nothing was billed',
};

/**
 * What to do about a request that was refused or failed. If its engines are at fault, an operator reads what repairs the
 * last one that failed, and others what the caller can do. Undefined: nothing is to be done, or nothing is known.
 */
export function actionOf(
  { outcome, failure, attempts }: Pick<Story, 'outcome' | 'failure' | 'attempts'>,
  reader: ReasonReader,
): string | undefined {
  if (outcome === null || outcome === 'completed' || outcome === 'cancelled') return undefined;
  const failed = attempts?.findLast(({ fault }) => fault !== null);
  const cause = failed?.fault?.cause ?? null;
  const isOfCaller = failure !== null && failures[failure.code].blame === 'caller';
  if (reader === 'admin' && failed !== undefined && cause !== null && !isOfCaller && causes[cause].who !== 'nobody')
    return `Backend ${failed.backend}: ${causes[cause].action}`;
  if (failure !== null) return failureActions[failure.code];
  return outcome === 'service-lost' ? 'Send it again: the gateway lost it' : undefined;
}
