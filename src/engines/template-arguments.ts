import type { RequestTarget } from '../core/capability.ts';
import { engines } from './engines.ts';

/** What a request makes the engine hand its chat template, for who renders the same template. */
export function templateArguments({ engine, reasoning }: RequestTarget): Readonly<Record<string, unknown>> {
  if (reasoning === undefined) return {};
  const { chat_template_kwargs: named, reasoning_effort: effort } = engines[engine].writeReasoning(reasoning);
  return {
    ...(typeof named === 'object' ? named : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
  };
}
