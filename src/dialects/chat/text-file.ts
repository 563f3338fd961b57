const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a `data:text/…` URL (RFC 2397), base64 or percent-encoded; undefined when it is none, or not UTF-8. */
export function textOfDataUrl(url: string): string | undefined {
  const comma = url.indexOf(',');
  const [type = '', ...parameters] = url.slice(0, comma).toLowerCase().split(';');
  if (comma === -1 || !/^data:(?:text\/[\w.+-]+|application\/(?:json|xml|x-ndjson|yaml))?$/.test(type))
    return undefined;
  const data = url.slice(comma + 1);
  try {
    if (!parameters.includes('base64')) return decodeURIComponent(data);
    return utf8.decode(Uint8Array.fromBase64(data));
  } catch {
    return undefined;
  }
}
