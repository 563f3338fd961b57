import { Failure } from '../core/failure.ts';

/**
 * Splits a model id from its suffix: `:nitro` and `:floor` mean nothing here, any other is not offered
 * (docs/reference/api.md §1, rule 9). Throws `variant_not_supported`.
 */
export function readModelId(text: string): string {
  const [id = '', ...suffixes] = text.toLowerCase().split(':');
  for (const suffix of suffixes) {
    if (suffix !== 'nitro' && suffix !== 'floor') {
      throw new Failure('variant_not_supported', 'model: only the suffixes :nitro and :floor are accepted');
    }
  }
  return id;
}
