const longestPart = 60;

/**
 * A catalog id, lowercase `<org>/<model>`, for what an engine calls a model; `local/…` when the name has no owner.
 * A path becomes its base name. An id that is taken gets a number.
 */
export function catalogIdOf(upstreamModel: string, taken: ReadonlySet<string>): string {
  const [org, model] = split(upstreamModel);
  const wanted = `${clean(org) || 'local'}/${clean(model) || 'model'}`;
  if (!taken.has(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    if (!taken.has(`${wanted}-${number}`)) return `${wanted}-${number}`;
  }
}

function split(name: string): readonly [org: string, model: string] {
  const isFile = /^([./~\\]|[A-Za-z]:\\)/.test(name) || /\.(gguf|ggml|bin|safetensors)$/i.test(name);
  if (isFile) return ['local', baseName(name)];
  // Fireworks: accounts/<org>/models/<model>. Hugging Face addresses, as Ollama has them: hf.co/<org>/<model>.
  const short = name.replace(/^accounts\/([^/]+)\/models\//, '$1/').replace(/^(hf\.co|huggingface\.co)\//, '');
  const slash = short.indexOf('/');
  return slash < 1 ? ['local', short] : [short.slice(0, slash), short.slice(slash + 1)];
}

function baseName(path: string): string {
  const last = path.split(/[/\\]/).findLast((part) => part !== '') ?? path;
  return last.replace(/\.(gguf|ggml|bin|safetensors)$/i, '');
}

/** What the catalog's pattern allows. A tag after a colon must not read as a variant, so it becomes part of the name. */
function clean(part: string): string {
  return part
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, longestPart)
    .replace(/[^a-z0-9]+$/, '');
}
