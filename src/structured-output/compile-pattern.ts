/** Letters that mean something after a backslash where the `u` flag does not watch over them. */
const knownEscapes = /[^a-zA-Z]|[bBcdDfknrsStuvwWx]/;

function hasUnknownEscape(pattern: string): boolean {
  for (const [, escaped = ''] of pattern.matchAll(/\\(.)/gs)) if (!knownEscapes.test(escaped)) return true;
  return false;
}

/**
 * A schema's pattern, as JSON Schema 2020-12 §6.4 wants it (with Unicode), else without: `[\w-.]` and `\-` are
 * common and harmless. Throws on what another language means: `\A` would be a plain A here, and a sound answer a defect.
 */
export function compilePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    if (hasUnknownEscape(pattern)) throw error;
    return new RegExp(pattern);
  }
}
