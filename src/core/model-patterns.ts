import { listBounds } from './limits.ts';
import { quoted } from './one-line.ts';

/** The models that a key may call: ids, and `org/*` for all models of an organisation, including later ones. */
export type ModelPatterns = readonly string[];

const { maxKeyModels } = listBounds;
const longest = 128;
/** An id of the catalog (`spec.id` of a Model), or `*` in place of its second part. */
const shape = /^[a-z0-9][a-z0-9._-]*\/(?:[a-z0-9][a-z0-9._-]*|\*)$/;

/**
 * Reads patterns with commas between them, in upper or lower case. Returns them in lower case, sorted and without
 * duplicates, or a sentence that says what was expected. The models need not exist yet.
 */
export function readModelPatterns(text: string): { readonly patterns: ModelPatterns } | { readonly problem: string } {
  const patterns = [...new Set(text.split(',').map((part) => part.trim().toLowerCase()))].toSorted();
  const wrong = patterns.find((pattern) => pattern.length > longest || !shape.test(pattern));
  if (wrong !== undefined) {
    return { problem: `${quoted(wrong)} is neither a model such as org/model nor org/*.` };
  }
  return patterns.length > maxKeyModels ? { problem: `It may name at most ${maxKeyModels} models.` } : { patterns };
}

/** Whether a model's id, in lower case, is among the patterns. Without patterns, every model is allowed. */
export function allowsModel(patterns: ModelPatterns | undefined, modelId: string): boolean {
  if (patterns === undefined) return true;
  return patterns.includes(modelId) || patterns.includes(`${modelId.slice(0, modelId.indexOf('/') + 1)}*`);
}
