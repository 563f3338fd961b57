import { Failure } from '../../core/failure.ts';

/** Suffixes without effect, and suffixes that are refused after any name. */
const idleSuffixes: ReadonlySet<string> = new Set(['nitro', 'floor']);
const refusedSuffixes: ReadonlySet<string> = new Set(['free', 'online', '']);

/**
 * The name of a model in lower case, without the suffixes that have no effect (docs/reference/api.md §1, rule 9). Any other suffix
 * stays in the name: an alias may have one, such as `llama3.2:1b`. Throws `variant_not_supported`.
 */
export function readModelName(text: string): string {
  const [name = '', ...suffixes] = text.toLowerCase().split(':');
  if (suffixes.some((suffix) => refusedSuffixes.has(suffix))) throw variantNotSupported();
  return [name, ...suffixes.filter((suffix) => !idleSuffixes.has(suffix))].join(':');
}

/** Whether a name has a suffix. An unknown name with a suffix is refused as a variant that is not offered. */
export const hasSuffix = (name: string): boolean => name.includes(':');

export const variantNotSupported = (): Failure =>
  new Failure('variant_not_supported', 'model: only the suffixes :nitro and :floor are accepted');
