import { z } from 'zod';
import { converted } from '../../core/body-schema.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a `data:text/…` URL (RFC 2397), base64 or percent-encoded. Undefined for any other URL, and when it is not UTF-8. */
function textOfDataUrl(url: string): string | undefined {
  const comma = url.indexOf(',');
  const [type = '', ...parameters] = url.slice(0, comma).toLowerCase().split(';');
  if (comma === -1 || !/^data:(?:text\/[\w.+-]+|application\/(?:json|xml|x-ndjson|yaml))?$/.test(type))
    return undefined;
  const data = url.slice(comma + 1);
  try {
    return parameters.includes('base64') ? utf8.decode(Uint8Array.fromBase64(data)) : decodeURIComponent(data);
  } catch {
    return undefined;
  }
}

/** The content of a file, as a `data:text/…` URL, read as its text. */
export const fileText = converted(
  z.string('expected the content of a text file as a data:text/… URL: files are not kept here'),
  (data, issues) => {
    const text = textOfDataUrl(data);
    if (text !== undefined) return text;
    issues.push({
      code: 'custom',
      input: data,
      message: 'expected text, as a data:text/… URL in UTF-8: send other files as their text, or their pages as images',
    });
    return z.NEVER;
  },
);
