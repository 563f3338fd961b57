import type { StructuralCapability } from '../core/health.ts';
import type { Asked } from './needs.ts';

const none: readonly StructuralCapability[] = [];

/** What a request needs a route to get right in form. */
export function formsNeeded({ tools, toolChoice, responseFormat }: Asked): readonly StructuralCapability[] {
  const calls = tools.length > 0 && toolChoice !== 'none';
  const format = responseFormat === undefined || responseFormat.type === 'text' ? undefined : responseFormat.type;
  if (!calls) return format === undefined ? none : [format];
  return format === undefined ? ['tools'] : ['tools', format];
}
