import type { Feature } from '../../core/capability.ts';
import { errorBody, type Failure } from '../../core/failure.ts';

const names: Partial<Readonly<Record<Feature, string>>> = {
  stop: 'stop_sequences',
  reasoning: 'thinking',
  response_format: 'output_config.format',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
};

/**
 * The envelope of every error (docs/reference/api.md §2.5), with the `type` by which this format's clients know it, before an
 * answer and inside of one.
 */
export const writeError = (failure: Failure): string =>
  JSON.stringify({ type: 'error', error: errorBody(failure, (feature) => names[feature] ?? feature) });
