import { Failure, fieldPath } from '../core/failure.ts';
import { type ImageHosts, isImageAllowed } from '../core/image-hosts.ts';
import type { Message } from '../core/request.ts';
import { isObject } from './json.ts';

/** How deep an address may stand: `messages[0].content[0].content[0].source.url`. Bodies may be nested without end. */
const deepest = 8;

/** How either format ends the path of an image's address. */
const places = /(?:^|\.)(?:image_url|image_url\.url|source\.url)$/;

/** Where an image's address stands in a body, whatever its format. */
function placeOf(value: unknown, address: string, path: readonly PropertyKey[]): readonly PropertyKey[] | undefined {
  if (value === address) return places.test(path.join('.')) ? path : undefined;
  // The arguments of a call may hold anything.
  if (path.length >= deepest || path.at(-1) === 'input') return undefined;
  const fields = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  for (const [name, field] of fields) {
    const place = placeOf(field, address, [...path, name]);
    if (place !== undefined) return place;
  }
  return undefined;
}

/** Refuses an image that engines may not fetch, and names its field in the body that the caller sent. */
export function checkImages(body: unknown, messages: readonly Message[], hosts: ImageHosts): void {
  if (hosts === 'any') return;
  for (const { content = '' } of messages) {
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type !== 'image' || isImageAllowed(part.url, hosts)) continue;
      const place = fieldPath(placeOf(body, part.url, []) ?? ['messages']);
      const allowed =
        hosts.length === 0 ? 'send the image as data' : 'send it as data, or from a host that is allowed here';
      throw new Failure('invalid_request', `${place}: images are not fetched from this address: ${allowed}`);
    }
  }
}
