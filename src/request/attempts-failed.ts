import type { Feature } from '../core/capability.ts';
import { contextOverflow } from '../routing/context.ts';
import { Failure } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { Request } from '../core/request.ts';
import type { DispatchEnd } from '../dispatch/run.ts';

/** What of a request an engine's error may be about. */
type AskedParts = Pick<Request, 'tools' | 'toolChoice' | 'responseFormat' | 'reasoning' | 'sampling'>;

/** Whether a request asks for a part: an engine's error may name one that the service itself has set. */
function hasPart({ tools, toolChoice, responseFormat, reasoning, sampling }: AskedParts, part: Feature): boolean {
  if (part === 'tools') return tools.length > 0;
  if (part === 'tool_choice') return toolChoice !== undefined;
  if (part === 'response_format') return responseFormat !== undefined;
  return (part === 'reasoning' ? reasoning : sampling[part]) !== undefined;
}

/**
 * What a caller is told when no attempt delivered anything. A refusal that every route of the model would repeat is the
 * request's own and a 400; as long as another route might take it, it is worth another try, and a 502. Engines' own words go
 * nowhere: they name the engine, and may quote the prompt.
 */
export function attemptsFailed(end: DispatchEnd, { model, leftOut = 0 }: Plan, request: AskedParts): Failure {
  if (end.attempts === 0) return new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const retry = new Failure('attempts_failed', 'No attempt to serve this request succeeded. It is safe to retry.');
  if (end.kind !== 'failed') return retry;
  const isLastWord = !end.isPartial && leftOut === 0;
  switch (end.refusedFor) {
    case 'context-length':
      // Where no tokenizer counted the prompt, the engines' word on its length is the verdict.
      return contextOverflow(model);
    case 'bad-request': {
      if (!isLastWord) return retry;
      const about = end.about !== undefined && hasPart(request, end.about) ? [end.about] : [];
      const what = about.length > 0 ? 'its value is refused' : 'the request is refused';
      return new Failure(
        'invalid_request',
        `${what} by everything that serves ${model.id}; unchanged, it will be refused again.`,
        { about },
      );
    }
    case 'content-policy':
      if (!isLastWord) return retry;
      return new Failure(
        'invalid_request',
        `messages: the content policy for ${model.id} does not let them through; unchanged, they will be refused again.`,
      );
    case 'structure':
      return new Failure(
        'attempts_failed',
        'No answer had the structure that this request asks for. Another try may bring one, unless no answer can have it.',
      );
    case 'repeated-failure':
      return new Failure(
        'attempts_failed',
        'No attempt to serve this request succeeded, and none did shortly before. Retry later, or change the prompt.',
      );
    case 'account':
    case 'not-found':
    case 'rate-limit':
    case 'overloaded':
    case 'other':
    case 'disputed':
    case undefined:
      return retry;
  }
}
